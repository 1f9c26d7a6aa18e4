package output

import (
	"regexp"
	"strings"
)

// notices matches lines that programs write to stderr whether or not they fail: those of the JVM about its options,
// those of loggers without a configuration, Python's warnings with the line of the program below them, and others.
var notices = regexp.MustCompile(`(?m)^(?:` +
	`Picked up _?JAVA_|Picked up JDK_|NOTE: Picked up |SLF4J|log4j:WARN |WARNING: |OpenJDK .*VM warning: |Java HotSpot.*VM warning: |` +
	`nohup: |mesg: |tput: |stty: |stdin: is not a tty|bash: cannot set terminal |bash: no job control |` +
	`.*: warning: setlocale: |perl: warning: |\(node:\d+\) |\(Use .node --trace-|Warning: |(?:mysql\w*|curl): \[?Warning\]?:? |` +
	`.+:\d+: \w*Warning: .*\n  |\w*Warning: Enable tracemalloc ` +
	`).*(?:\n|\z)`)

// isNotice reports whether the end of a stream has only lines that say nothing about a failure.
func isNotice(end string) bool { return withoutNotices(end) == "" }

// withoutNotices returns the end of a stream without the lines that say nothing about a failure.
func withoutNotices(end string) string { return strings.TrimSpace(notices.ReplaceAllString(end, "")) }
