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

// cutAfterException is cut for the end of a stream. If so many lines follow the last exception that the exception and
// its causes would be cut away, it cuts these lines instead.
func cutAfterException(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	lines := strings.Split(text, "\n")
	last := len(lines) - 1
	for last >= 0 && !exceptionLine.MatchString(lines[last]) {
		last--
	}
	following := strings.Join(lines[last+1:], "\n")
	if last < 0 || len(following) < limit/4 {
		return cut(text, limit)
	}
	first := last
	for first > 0 && (exceptionLine.MatchString(lines[first-1]) || chainLine.MatchString(lines[first-1])) {
		first--
	}
	exception := cut(strings.TrimSpace(strings.Join(lines[first:last+1], "\n")), limit*3/4)
	end := cut(following, limit-len(exception)-len("\n… 1000000 lines …\n"))
	if _, wholeLines, ok := strings.Cut(end, "\n"); ok { // the first line is incomplete
		end = wholeLines
	}
	if left := strings.Count(following, "\n") - strings.Count(end, "\n"); left > 0 {
		return fmt.Sprintf("%s\n… %d lines …\n%s", exception, left, end)
	}
	return exception + "\n" + end
}
