package jobs

import (
	"regexp"
	"strconv"
	"strings"
)

// idInText matches ids in texts for people: those of tasks and executors, which have idDelimiter, and those of
// executions, which are their job's name, '@' and a time, or how else they came to be. What follows an id in a
// sentence or a path is no part of it.
var idInText = regexp.MustCompile(`[A-Za-z0-9][\w.-]*@(?:-@[^\s/\\,;"'()]*|(?:\d{8}T\d{6}|key-|import-)[\w.:-]*)`)

// notInEnd is what a sentence may have behind an id.
const notInEnd = ".:-"

// HideIDs returns a text in which each id of a task, an executor or an execution is replaced by other, unless shown
// reports that the reader may see the app or the job that the id begins with. So what is hidden depends on whose ids
// they are, and not on the sentences that they are in.
func HideIDs(text, other string, shown func(name string, isApp bool) bool) string {
	if !strings.Contains(text, "@") {
		return text
	}
	return idInText.ReplaceAllStringFunc(text, func(id string) string {
		whole := strings.TrimRight(id, notInEnd)
		name, rest, _ := strings.Cut(whole, "@")
		if shown(name, isExecutorID(rest)) {
			return id
		}
		return other + id[len(whole):]
	})
}

// isExecutorID reports whether what follows a name and its '@' is an executor's, in our form or the original's, and
// no task's.
func isExecutorID(rest string) bool {
	rest, has := strings.CutPrefix(rest, strings.TrimPrefix(idDelimiter, "@"))
	item, rest, _ := strings.Cut(rest, idDelimiter)
	kind, _, _ := strings.Cut(rest, idDelimiter)
	_, err := strconv.Atoi(item)
	return has && (err != nil || kind != TaskReady && kind != TaskFailover)
}
