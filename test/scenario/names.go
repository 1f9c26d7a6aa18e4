package scenario

import (
	"fmt"
	"regexp"
	"strings"
)

// Names gives random ids names that are the same in every run: the first trigger of my_job makes
// my_job@trigger-1. It is for one goroutine at a time.
type Names struct {
	// ByID are the names of tasks, executors, executions and frameworks, IDs the other way round, and Counts how many
	// there are by what they are called after.
	ByID, IDs map[string]string
	Counts    map[string]int
}

// NewNames has no names yet.
func NewNames() *Names {
	return &Names{ByID: map[string]string{}, IDs: map[string]string{}, Counts: map[string]int{}}
}

// ExecutorIDs are the ids of executors.
var ExecutorIDs = regexp.MustCompile(`([\w.-]+)@-@[\w.-]+@-@(\d+)`)

var (
	triggerIDs   = regexp.MustCompile(`([\w.-]+)@\d{8}T\d{6}Z-[0-9a-f]{8}`)
	questions    = regexp.MustCompile(`question-[0-9a-f-]{36}`)
	frameworkIDs = regexp.MustCompile(`elasticjob-[0-9a-f]{8}-[0-9a-f-]{27}`)
)

// InWords replaces random ids by their names.
func (n *Names) InWords(text string) string {
	for id, name := range n.ByID {
		text = strings.ReplaceAll(text, id, name)
	}
	text = questions.ReplaceAllString(text, "an invented task")
	text = ExecutorIDs.ReplaceAllString(text, "$1#$2")
	text = triggerIDs.ReplaceAllStringFunc(text, func(id string) string {
		return n.Called(id, triggerIDs.FindStringSubmatch(id)[1]+"@trigger-")
	})
	return frameworkIDs.ReplaceAllStringFunc(text, func(id string) string { return n.Called(id, "framework-") })
}

// Called gives an id the next name that begins so.
func (n *Names) Called(id, prefix string) string {
	if name, ok := n.ByID[id]; ok {
		return name
	}
	n.Counts[prefix]++
	name := fmt.Sprint(prefix, n.Counts[prefix])
	n.ByID[id], n.IDs[name] = name, id
	return name
}

// Shorten is a list, cut where it would show the reader nothing more.
func Shorten(list []string) string {
	const most = 6
	if n := len(list); n > most {
		return fmt.Sprintf("%s … %s (%d)", strings.Join(list[:most-2], ", "), list[n-1], n)
	}
	return strings.Join(list, ", ")
}
