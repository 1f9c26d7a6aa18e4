package jobs

import (
	"regexp"
	"strconv"
	"strings"
)

// idInText matches ids in texts for users. The ids of tasks and executors contain idDelimiter; the ids of executions
// are the job's name, '@', and a time or another origin. A match ends where a sentence or path continues after the id.
var idInText = regexp.MustCompile(`[A-Za-z0-9][\w.-]*@(?:-@[^\s/\\,;"'()]*|(?:\d{8}T\d{6}|key-|import-)[\w.:-]*)`)

// trailingPunctuation contains characters that may follow an id in a sentence, although they may also be within an id.
const trailingPunctuation = ".:-"

// HideIDs replaces each id of a task, executor or execution in a text by replacement, unless visible returns true for
// the id's owner. The owner is the app or job with whose name the id begins.
func HideIDs(text, replacement string, visible func(name string, isApp bool) bool) string {
	if !strings.Contains(text, "@") {
		return text
	}
	return idInText.ReplaceAllStringFunc(text, func(id string) string {
		whole := strings.TrimRight(id, trailingPunctuation)
		name, rest, _ := strings.Cut(whole, "@")
		if visible(name, isExecutorID(rest)) {
			return id
		}
		return replacement + id[len(whole):]
	})
}

// isExecutorID reports whether an id is that of an executor, in this or the original's format, and not that of a task.
// rest is the id after the first '@'.
func isExecutorID(rest string) bool {
	rest, has := strings.CutPrefix(rest, strings.TrimPrefix(idDelimiter, "@"))
	item, rest, _ := strings.Cut(rest, idDelimiter)
	taskType, _, _ := strings.Cut(rest, idDelimiter)
	_, err := strconv.Atoi(item)
	return has && (err != nil || taskType != TaskReady && taskType != TaskFailover)
}
