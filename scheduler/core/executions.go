package core

import "slices"

// executions are all that are open, with the indexes over them, and those that ended and are kept. These hold between any two
// steps:
//
//   - open has, by id, every execution that has not ended, and ended every one that is kept of those that have;
//   - tasks has every live attempt of an open execution by its task's id, and no task of one that ended;
//   - launchable is sorted by launchKey and has exactly those with launchable set: the launched ones that have a shard
//     to place, and of each job the first in its queue that was not launched.
type executions struct {
	open       map[string]*execution
	tasks      map[string]taskRef
	launchable []*execution
	ended      history
}

func newExecutions() executions {
	return executions{open: map[string]*execution{}, tasks: map[string]taskRef{}, ended: newHistory()}
}

// known reports whether an execution of that id is open, or has ended and is kept.
func (es *executions) known(id string) bool { return es.open[id] != nil || es.ended.byID[id] != nil }

// end takes an execution out of the open ones, with its tasks.
func (es *executions) end(e *execution) {
	es.removeLaunchable(e)
	delete(es.open, e.ID)
	for i := range e.Shards {
		delete(es.tasks, e.Shards[i].TaskID)
	}
}

func (es *executions) insertLaunchable(e *execution, key launchKey) {
	e.launchKey, e.launchable = key, true
	i, _ := slices.BinarySearchFunc(es.launchable, key, compareLaunch)
	es.launchable = slices.Insert(es.launchable, i, e)
}

func (es *executions) removeLaunchable(e *execution) {
	if !e.launchable {
		return
	}
	if i, ok := slices.BinarySearchFunc(es.launchable, e.launchKey, compareLaunch); ok {
		es.launchable = slices.Delete(es.launchable, i, i+1)
	}
	e.launchable = false
}

func compareLaunch(e *execution, k launchKey) int {
	switch {
	case e.launchKey.before(k):
		return -1
	case k.before(e.launchKey):
		return 1
	}
	return 0
}
