// Package stacktrace shortens stack traces in the output of programs, so that they fit into a reason. It keeps what
// says why a program failed: the exceptions, their messages and causes, and where in the program's own code each was
// thrown.
package stacktrace

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

var (
	// margin matches the margin that Python writes before each line of an exception group.
	margin = regexp.MustCompile(`^(?:\s*[|+]\s)+`)
	// pythonFrame matches the first line of a frame of Python. Lines of the program's source follow, which are
	// indented deeper.
	pythonFrame = regexp.MustCompile(`^\s*File ".*", line \d+, in \S.*$`)
	// atFrame matches frames of Java, Node.js and .NET.
	atFrame = regexp.MustCompile(`^\s+at \S.*(?:[)\]]|:\d+:\d+|:line \d+)(?: \{)?$`)
	// goFunction and goPlace match the two lines of a frame of Go.
	goFunction = regexp.MustCompile(
		`^(?:created by \S+(?: in goroutine \d+)?|[\w./*()\[\]·{}~%-]+\.[\w.*()\[\]·{}-]+(?:\(.*\))?|panic\(.*\))$`)
	goPlace = regexp.MustCompile(`^\t\S.*\.(?:go|s):\d+(?: \+0x[0-9a-f]+)?$`)
	// otherLine matches the other lines of traces: headings, notes about omitted frames, and frames of Ruby and PHP.
	otherLine = regexp.MustCompile("^(?:" + strings.Join([]string{
		`(?:Exception Group )?Traceback \(most recent call last\):`, `\s*\[Previous line repeated \d+ more times?\]`,
		`\s*\.\.\. \d+ (?:more|common frames omitted)`, `goroutine \d+ .*\[.*\]:`,
		"\\s*from \\S.*:\\d+:in [`'].*", `Stack trace:`, `#\d+ (?:\{main\}|\S.*\(\d+\): .*|\[internal function\]: .*)`,
	}, "|") + ")$")
	// escaped matches Java's frames in a text of JSON.
	escaped = regexp.MustCompile(`(?:(?:\\r)?\\n\\t(?:\\t)*(?:at |\.\.\. \d+ )[^"\\]*)+`)
	// thrown matches the line of an exception in Python.
	thrown = regexp.MustCompile(`^\s*[A-Za-z_][\w.]*(?:: .*)?$`)
	// withoutMessage matches an exception without a message, which only the place of its frame explains.
	withoutMessage = regexp.MustCompile(
		`^\s*(?:Exception in thread ".*" |Caused by: |Suppressed: |Uncaught )?[\w.$]*(?:Exception|Error|Throwable)$`)

	// beginsException matches the beginning of an exception with a message.
	beginsException = regexp.MustCompile(
		`^[\s|+]*(?:Exception in thread "[^"]*" |Caused by: |Suppressed: |Uncaught |Unhandled exception\. )?` +
			`(?:[\w.$]*(?:Exception|Error|Throwable)|panic): `)

	// javaPlace and otherPlace match the file and the line of a frame of Java, and of Node.js and .NET. pythonPlace
	// matches those of a frame of Python.
	javaPlace   = regexp.MustCompile(`\(([^():/\s]+):(\d+)\)`)
	otherPlace  = regexp.MustCompile(`([^()/\\:\s]+):(?:line )?(\d+)(?::\d+)?\)?(?: \{)?$`)
	pythonPlace = regexp.MustCompile(`File "(?:.*[/\\])?(.*)", line (\d+)`)
	// library and pythonLibrary match frames outside of the program's own code: those of the language's libraries and
	// of the SDK, and for Python and Node.js those of installed packages.
	library = regexp.MustCompile(`^\s+at (?:[\w.@-]*/)*(?:java|javax|jdk|sun|com\.sun|kotlin|scala|groovy|` +
		`io\.github\.elasticjob\.[A-Z]\w*)\.|\(node:|/node_modules/|at node:`)
	pythonLibrary = regexp.MustCompile(
		`File "(?:<frozen |.*(?:[/\\](?:site|dist)-packages|\blib(?:64)?[/\\]python[\d.]+)[/\\]|` +
			`(?:.*[/\\])?elasticjob\.py")`)
)

// Shorten returns a text without the frames of the stack traces of Java, Python, Node.js, Go, .NET, Ruby and PHP in it.
//
// To an exception of Java, Python, Node.js and .NET it appends the place in the program's own code that threw the
// exception, such as "(Share.java:17)". An exception that has neither a message nor such a place keeps the frame that
// threw it. An exception of Python without a message keeps its own frame with the line of the program.
//
// A long message loses its middle, so that where the text is cut, neither the class and the beginning of the message
// nor the place is lost. Shorten returns the text unchanged if nothing else would be left.
func Shorten(text string) string {
	var s shortener
	given := text
	if strings.Contains(text, `\n\t`) {
		given = escaped.ReplaceAllStringFunc(text, placeOfEscaped)
	}
	for line := range strings.SplitSeq(given, "\n") {
		s.add(line)
	}
	for i, line := range s.kept {
		s.kept[i] = cutMiddle(line)
	}
	if short := strings.Trim(strings.Join(s.kept, "\n"), "\n"); strings.TrimSpace(short) != "" {
		return short
	}
	return text
}

// maxHead and maxTail limit the beginning and the end of a long message, in bytes. Two such messages fit into a reason.
const (
	maxHead = 500
	maxTail = 200
)

// cutMiddle returns a line, without its middle if it is long and begins with an exception.
func cutMiddle(line string) string {
	if len(line) <= maxHead+maxTail || !beginsException.MatchString(line[:maxHead]) {
		return line
	}
	head, tail := maxHead, len(line)-maxTail
	for !utf8.RuneStart(line[head]) {
		head--
	}
	for !utf8.RuneStart(line[tail]) {
		tail--
	}
	return line[:head] + " … " + line[tail:]
}

// placeOfEscaped returns the place that replaces successive frames of Java in a text of JSON, or "".
func placeOfEscaped(frames string) string {
	for line := range strings.SplitSeq(frames, `\n`) {
		if place := placeOf("\t" + strings.TrimLeft(line, `\t`)); place != "" {
			return place
		}
	}
	return ""
}

// placeOf returns the place of a frame of Java, Node.js or .NET in the program's own code, or "" for other code.
func placeOf(frame string) string {
	if library.MatchString(frame) {
		return ""
	}
	match := javaPlace.FindStringSubmatch(frame)
	if match == nil {
		match = otherPlace.FindStringSubmatch(frame)
	}
	return placeText(match)
}

// placeText returns the text for a match of a file and a line, or "" for no match.
func placeText(match []string) string {
	if match == nil {
		return ""
	}
	return " (" + match[1] + ":" + match[2] + ")"
}

// shortener is the state of reading a text line by line.
type shortener struct {
	kept []string
	// placed means that the last kept line ends with the place of its exception. unplaced means that the last kept line
	// is the first frame of an exception that has neither a message nor, so far, a place.
	placed, unplaced bool
	// frame is a frame of Python, with its source lines, that precedes the exception that it threw: the last frame in
	// the program's own code, in which case own is set, or else the last frame.
	frame []string
	own   bool
	// inFrame means that lines that are indented deeper than depth belong to a frame of Python. With keepFrame they are
	// added to frame.
	inFrame, keepFrame bool
	depth              int
}

// add adds the next line of the text.
func (s *shortener) add(line string) {
	plain := line
	if begin := strings.TrimLeft(line, " \t"); strings.HasPrefix(begin, "|") || strings.HasPrefix(begin, "+") {
		plain = line[len(margin.FindString(line)):]
	}
	if startsFrame(plain, "File ", pythonFrame) {
		s.addPythonFrame(line, plain)
		return
	}
	if s.inFrame && indentation(plain) > s.depth {
		if s.keepFrame {
			s.frame = append(s.frame, line)
		}
		return
	}
	s.inFrame = false
	last := ""
	if len(s.kept) > 0 {
		last = s.kept[len(s.kept)-1]
	}
	switch {
	case startsFrame(line, "at ", atFrame):
		s.addFrame(line, last)
	case strings.HasPrefix(line, "\t") && goPlace.MatchString(line) && goFunction.MatchString(last):
		s.kept = s.kept[:len(s.kept)-1]
	case otherLine.MatchString(plain):
		s.own = s.own && !strings.HasSuffix(plain, "(most recent call last):")
	case strings.TrimSpace(line) == "" && strings.TrimSpace(last) == "":
	default:
		s.keep(line, plain)
	}
}

// addFrame adds a frame of Java, Node.js or .NET. last is the last kept line, which is the exception or a frame of it.
func (s *shortener) addFrame(line, last string) {
	if s.placed || strings.TrimSpace(last) == "" {
		return
	}
	place := placeOf(line)
	switch {
	case place == "" && !s.unplaced && withoutMessage.MatchString(last):
		s.kept, s.unplaced = append(s.kept, strings.TrimSuffix(line, " {")), true
		return
	case place == "":
		return
	case s.unplaced:
		s.kept = s.kept[:len(s.kept)-1]
	}
	exception := &s.kept[len(s.kept)-1]
	*exception, s.placed, s.unplaced = strings.TrimRight(*exception, " \r")+place, true, false
}

// addPythonFrame adds the first line of a frame of Python, which precedes its exception.
func (s *shortener) addPythonFrame(line, plain string) {
	own := !pythonLibrary.MatchString(plain)
	s.inFrame, s.depth, s.keepFrame = true, indentation(plain), own || !s.own
	if s.keepFrame {
		s.frame, s.own = []string{line}, own
	}
}

// keep keeps a line that belongs to no frame.
func (s *shortener) keep(line, plain string) {
	if len(s.frame) > 0 && thrown.MatchString(plain) {
		if withoutMessage.MatchString(plain) {
			s.kept = append(s.kept, s.frame[:min(2, len(s.frame))]...)
		} else if s.own {
			line = strings.TrimRight(line, " \r") + placeText(pythonPlace.FindStringSubmatch(s.frame[0]))
		}
	}
	s.kept, s.placed, s.unplaced = append(s.kept, line), false, false
	s.frame, s.own = nil, false
}

// startsFrame reports whether a line matches a pattern. It first compares the word with which all such lines begin
// after their indentation, because that is much faster.
func startsFrame(line, word string, pattern *regexp.Regexp) bool {
	return strings.HasPrefix(strings.TrimLeft(line, " \t"), word) && pattern.MatchString(line)
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }
