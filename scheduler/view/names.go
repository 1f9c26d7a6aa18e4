package view

import (
	"strings"

	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// maxNames bounds the kept names of changed executions and apps. Beyond it, streams report that everything may have
// changed.
const maxNames = 10_000

// names is a set of changes.
type names struct {
	jobs, executions, apps map[string]struct{}
	cluster, all           bool
}

func (n *names) isEmpty() bool {
	return !n.all && !n.cluster && len(n.jobs)+len(n.executions)+len(n.apps) == 0
}

func addName(set *map[string]struct{}, name string) {
	if *set == nil {
		*set = map[string]struct{}{}
	}
	(*set)[name] = struct{}{}
}

// addChanged adds the changes of a decision. It keeps the name of each job, because its row is to be read.
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
