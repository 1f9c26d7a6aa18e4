// Package stacktrace shortens stack traces in the output of programs, so that what says why a program failed fits into
// a reason: the exceptions, their messages and their causes.
package stacktrace

import (
	"regexp"
	"strings"
)

var (
	// margin is what Python puts before each line of an exception group.
	margin = regexp.MustCompile(`^(?:\s*[|+]\s)+`)
	// pythonFrame matches the first line of a frame of Python. Lines of the program, indented deeper, follow.
	pythonFrame = regexp.MustCompile(`^\s*File ".*", line \d+, in \S.*$`)
	// at matches frames of Java, Node.js and .NET.
	at = regexp.MustCompile(`^\s+at \S.*(?:[)\]]|:\d+:\d+|:line \d+)(?: \{)?$`)
	// goFunction and goPlace match the two lines of a frame of Go.
	goFunction = regexp.MustCompile(`^(?:created by \S+(?: in goroutine \d+)?|[\w./*()\[\]·{}~%-]+\.[\w.*()\[\]·{}-]+(?:\(.*\))?|panic\(.*\))$`)
	goPlace    = regexp.MustCompile(`^\t\S.*\.(?:go|s):\d+(?: \+0x[0-9a-f]+)?$`)
	// rest matches other lines of traces: headings, what is left out, and frames of Ruby and PHP.
	rest = regexp.MustCompile("^(?:" + strings.Join([]string{
		`(?:Exception Group )?Traceback \(most recent call last\):`, `\s*\[Previous line repeated \d+ more times?\]`,
		`\s*\.\.\. \d+ (?:more|common frames omitted)`, `goroutine \d+ .*\[.*\]:`,
		"\\s*from \\S.*:\\d+:in [`'].*", `Stack trace:`, `#\d+ (?:\{main\}|\S.*\(\d+\): .*|\[internal function\]: .*)`,
	}, "|") + ")$")
	// escaped matches Java's frames in a text of JSON.
	escaped = regexp.MustCompile(`(?:\\r)?\\n\\t(?:\\t)*(?:at |\.\.\. \d+ )[^"\\]*`)
	// named matches an exception without a message, which only the place of its frame explains.
	named = regexp.MustCompile(`^\s*(?:Exception in thread ".*" |Caused by: |Suppressed: |Uncaught )?[\w.$]*(?:Exception|Error|Throwable)$`)
)

// Shorten returns a text without the frames of the stack traces of Java, Python, Node.js, Go, .NET, Ruby and PHP in it.
// Of an exception without a message it keeps the frame that threw it. It returns the text itself if nothing else would
// be left.
func Shorten(text string) string {
	var s shortener
	given := text
	if strings.Contains(text, `\n\t`) {
		given = escaped.ReplaceAllString(text, "")
	}
	for line := range strings.SplitSeq(given, "\n") {
		s.add(line)
	}
	if short := strings.Trim(strings.Join(s.kept, "\n"), "\n"); strings.TrimSpace(short) != "" {
		return short
	}
	return text
}

// shortener is what is known of the lines so far.
type shortener struct {
	kept []string
	// frame is the last frame of Python, with its source line, and depth the indentation of its first line. It ends with
	// a line that is not indented deeper.
	frame []string
	depth int
	open  bool
}

func (s *shortener) add(line string) {
	plain := line
	if begin := strings.TrimLeft(line, " \t"); strings.HasPrefix(begin, "|") || strings.HasPrefix(begin, "+") {
		plain = line[len(margin.FindString(line)):]
	}
	if startsFrame(plain, "File ", pythonFrame) {
		s.frame, s.depth, s.open = []string{line}, indentation(plain), true
		return
	}
	if s.open && indentation(plain) > s.depth {
		s.frame = append(s.frame, line)
		return
	}
	s.open = false
	last := ""
	if len(s.kept) > 0 {
		last = s.kept[len(s.kept)-1]
	}
	switch {
	case startsFrame(line, "at ", at):
		if named.MatchString(last) {
			s.kept = append(s.kept, strings.TrimSuffix(line, " {"))
		}
	case strings.HasPrefix(line, "\t") && goPlace.MatchString(line) && goFunction.MatchString(last):
		s.kept = s.kept[:len(s.kept)-1]
	case rest.MatchString(plain), strings.TrimSpace(line) == "" && strings.TrimSpace(last) == "":
	default:
		if len(s.frame) > 0 && named.MatchString(plain) {
			s.kept = append(s.kept, s.frame[:min(2, len(s.frame))]...)
		}
		s.kept, s.frame = append(s.kept, line), nil
	}
}

// startsFrame reports whether a line matches a pattern. All lines that match begin with the word, which is much faster
// to compare, after their indentation.
func startsFrame(line, word string, pattern *regexp.Regexp) bool {
	return strings.HasPrefix(strings.TrimLeft(line, " \t"), word) && pattern.MatchString(line)
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }
