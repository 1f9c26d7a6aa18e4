package view

import (
	"strings"

	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// maxNames bounds the names of changed executions and apps that are kept. If there are more, streams report that
// anything may have changed.
const maxNames = 10_000

// names is a set of changes. all is set if anything may have changed.
type names struct {
	jobs, executions, apps map[string]struct{}
	cluster, all           bool
}

func (n *names) isEmpty() bool {
	return !n.all && !n.cluster && len(n.jobs)+len(n.executions)+len(n.apps) == 0
}

// addName adds a name to a set, which may be nil.
func addName(set *map[string]struct{}, name string) {
	if *set == nil {
		*set = map[string]struct{}{}
	}
	(*set)[name] = struct{}{}
}

// addChanged adds the changes of a decision. It keeps the name of every job, because its row must be read again. The
// names of executions and apps are dropped once all is set.
func (n *names) addChanged(ch *step.Changed) {
	n.cluster, n.all = n.cluster || ch.Cluster, n.all || ch.All
	for _, name := range ch.Jobs {
		addName(&n.jobs, name)
	}
	if len(n.executions)+len(ch.Executions)+len(n.apps)+len(ch.Apps) > maxNames {
		n.all, n.executions, n.apps = true, nil, nil
	}
	if n.all {
		return
	}
	for _, id := range ch.Executions {
		addName(&n.executions, id)
	}
	for _, name := range ch.Apps {
		addName(&n.apps, name)
	}
}

// merge adds the changes of m.
func (n *names) merge(m *names) {
	n.cluster, n.all = n.cluster || m.cluster, n.all || m.all
	for name := range m.jobs {
		addName(&n.jobs, name)
	}
	for id := range m.executions {
		addName(&n.executions, id)
	}
	for name := range m.apps {
		addName(&n.apps, name)
	}
}

// jobOf returns the job of an execution, from the execution's id.
func jobOf(execution string) string {
	job, _, _ := strings.Cut(execution, "@")
	return job
}
