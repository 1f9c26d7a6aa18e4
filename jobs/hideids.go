package jobs

import (
	"regexp"
	"strconv"
	"strings"
)

// idInText matches ids in texts for people: ids of tasks and executors, which contain idDelimiter, and ids of
// executions, which are the job's name, '@', and a time or another origin. The text after an id in a sentence or path
// is not part of it.
var idInText = regexp.MustCompile(`[A-Za-z0-9][\w.-]*@(?:-@[^\s/\\,;"'()]*|(?:\d{8}T\d{6}|key-|import-)[\w.:-]*)`)

// notInEnd are punctuation characters that may follow an id in a sentence.
const notInEnd = ".:-"

// HideIDs replaces the ids of tasks, executors and executions in a text by replacement, unless the reader may see their
// owner. An id begins with the name of its owner, an app or a job, for which visible is called.
func HideIDs(text, replacement string, visible func(name string, isApp bool) bool) string {
	if !strings.Contains(text, "@") {
		return text
	}
	return idInText.ReplaceAllStringFunc(text, func(id string) string {
		whole := strings.TrimRight(id, notInEnd)
		name, rest, _ := strings.Cut(whole, "@")
		if visible(name, isExecutorID(rest)) {
			return id
		}
		return replacement + id[len(whole):]
	})
}

// isExecutorID reports whether the text after a name and its '@' belongs to an executor, in the present or the
// original's format, and not to a task.
func isExecutorID(rest string) bool {
	rest, has := strings.CutPrefix(rest, strings.TrimPrefix(idDelimiter, "@"))
	item, rest, _ := strings.Cut(rest, idDelimiter)
	kind, _, _ := strings.Cut(rest, idDelimiter)
	_, err := strconv.Atoi(item)
	return has && (err != nil || kind != TaskReady && kind != TaskFailover)
}
