package output

import "regexp"

// notices matches texts of lines that programs write to stderr whether or not they fail, such as the JVM's about its
// options and those of loggers that find no configuration.
var notices = regexp.MustCompile(`^(?:(?:` +
	`Picked up _?JAVA_|Picked up JDK_|NOTE: Picked up |SLF4J|log4j:WARN |WARNING: |OpenJDK .*VM warning: |Java HotSpot.*VM warning: |` +
	`nohup: |mesg: |tput: |stty: |stdin: is not a tty|bash: cannot set terminal |bash: no job control |` +
	`.*: warning: setlocale: |perl: warning: |\(node:\d+\) |\(Use .node --trace-|.*Warning: ` +
	`).*(?:\n|$)|\s*\n)*$`)

// isNotice reports whether the end of a stream says nothing about a failure.
func isNotice(end string) bool { return notices.MatchString(end) }
