package scenario

import (
	"fmt"
	"regexp"
	"strings"
)

// Names replaces random ids by names that are the same in every run: the first trigger of my_job becomes
// my_job@trigger-1. It is not safe for concurrent use.
type Names struct {
	// ByID maps the ids of tasks, executors, executions and frameworks to names, IDs maps names to ids, and Counts
	// counts the names by prefix.
	ByID, IDs map[string]string
	Counts    map[string]int
}

// NewNames returns Names without any name.
func NewNames() *Names {
	return &Names{ByID: map[string]string{}, IDs: map[string]string{}, Counts: map[string]int{}}
}

// ExecutorIDs matches the ids of executors.
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

// Called returns the name of an id. A new id gets the next number after the prefix.
func (n *Names) Called(id, prefix string) string {
	if name, ok := n.ByID[id]; ok {
		return name
	}
	n.Counts[prefix]++
	name := fmt.Sprint(prefix, n.Counts[prefix])
	n.ByID[id], n.IDs[name] = name, id
	return name
}

// Shorten joins a list, and omits the middle of a long one.
func Shorten(list []string) string {
	const most = 6
	if n := len(list); n > most {
		return fmt.Sprintf("%s … %s (%d)", strings.Join(list[:most-2], ", "), list[n-1], n)
	}
	return strings.Join(list, ", ")
}
