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

func add(set *map[string]struct{}, name string) {
	if *set == nil {
		*set = map[string]struct{}{}
	}
	(*set)[name] = struct{}{}
}

// take adds the changes of a decision. It keeps the name of each job, because its row is to be read.
func (n *names) take(ch *step.Changed) {
	n.cluster, n.all = n.cluster || ch.Cluster, n.all || ch.All
	for _, name := range ch.Jobs {
		add(&n.jobs, name)
	}
	if len(n.executions)+len(ch.Executions)+len(n.apps)+len(ch.Apps) > maxNames {
		n.all, n.executions, n.apps = true, nil, nil
	}
	if n.all {
		return
	}
	for _, id := range ch.Executions {
		add(&n.executions, id)
	}
	for _, name := range ch.Apps {
		add(&n.apps, name)
	}
}

func (n *names) merge(m *names) {
	n.cluster, n.all = n.cluster || m.cluster, n.all || m.all
	for name := range m.jobs {
		add(&n.jobs, name)
	}
	for id := range m.executions {
		add(&n.executions, id)
	}
	for name := range m.apps {
		add(&n.apps, name)
	}
}

// jobOf returns the job of an execution, from the execution's id.
func jobOf(execution string) string {
	job, _, _ := strings.Cut(execution, "@")
	return job
}
