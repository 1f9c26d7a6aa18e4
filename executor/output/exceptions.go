package output

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	// exceptionLine matches the line of an exception, as stacktrace.Shorten leaves it.
	exceptionLine = regexp.MustCompile(
		`^\s*(?:Caused by: |Exception in thread "[^"]*" )?(?:[A-Za-z_$][\w$]*\.)*[A-Z]\w*(?:Error|Exception)(?:: |$| \(\S+:\d+\)$)`)
	// chainLine matches the other lines of a chain of exceptions.
	chainLine = regexp.MustCompile(
		`^\s*(?:Traceback \(most recent call last\):|The above exception was |During handling of the above exception|$)`)
)

// cutAfterException is cut for the end of a stream. If the last exception in it, with its causes, would be cut away
// because more lines follow than fit, these lines are cut instead.
func cutAfterException(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	lines := strings.Split(text, "\n")
	last := len(lines) - 1
	for last >= 0 && !exceptionLine.MatchString(lines[last]) {
		last--
	}
	behind := strings.Join(lines[last+1:], "\n")
	if last < 0 || len(behind) < limit/4 {
		return cut(text, limit)
	}
	first := last
	for first > 0 && (exceptionLine.MatchString(lines[first-1]) || chainLine.MatchString(lines[first-1])) {
		first--
	}
	exception := cut(strings.TrimSpace(strings.Join(lines[first:last+1], "\n")), limit*3/4)
	end := cut(behind, limit-len(exception)-len("\n… 1000000 lines …\n"))
	if _, whole, more := strings.Cut(end, "\n"); more { // the first line is incomplete
		end = whole
	}
	if left := strings.Count(behind, "\n") - strings.Count(end, "\n"); left > 0 {
		return fmt.Sprintf("%s\n… %d lines …\n%s", exception, left, end)
	}
	return exception + "\n" + end
}
