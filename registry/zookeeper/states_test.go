package zookeeper

import (
	"context"
	"testing"

	"github.com/go-zookeeper/zk"
)

// TestReportedChanges checks when a change of a document is reported, depending on the order in which the term and the
// watch have observed its states.
func TestReportedChanges(t *testing.T) {
	t.Parallel()
	const path = "/config/job/a"
	at := func(mzxid int64, aversion int32) state { return state{true, mzxid, aversion} }
	gone := state{}
	type step func(k *nodeStates) (bool, string)
	read := func(s state) step {
		return func(k *nodeStates) (bool, string) {
			return k.recordRead(path, s, false),
				"recordRead reports that the read was outdated"
		}
	}
	watched := func(s state) step {
		return func(k *nodeStates) (bool, string) { return k.recordWatch(path, s), "recordWatch reports a change" }
	}
	wrote := func(kind opKind, zxid int64) step {
		return func(k *nodeStates) (bool, string) { k.recordWrite(path, kind, zxid); return false, "" }
	}
	listed := func(paths ...string) step {
		return func(k *nodeStates) (bool, string) { k.recordList("/config/job", paths); return false, "" }
	}
	for name, c := range map[string]struct {
		steps  []step
		want   bool // of the last step; all others must return false
		exists bool // whether the entry exists according to nodeStates at the end
	}{
		"not read yet":                         {[]step{watched(at(5, 0))}, false, true},
		"unchanged since the read":             {[]step{read(at(5, 1)), watched(at(5, 1))}, false, true},
		"set since the read":                   {[]step{read(at(5, 0)), watched(at(6, 0))}, true, true},
		"its ACL has changed":                  {[]step{read(at(5, 0)), watched(at(5, 1))}, true, true},
		"removed":                              {[]step{read(at(5, 0)), watched(gone)}, true, false},
		"removed and created again":            {[]step{read(at(5, 3)), watched(at(9, 0))}, true, true},
		"reported already":                     {[]step{read(at(6, 0)), watched(at(6, 0)), watched(at(6, 0))}, false, true},
		"the watch's server lags":              {[]step{read(at(6, 0)), watched(at(5, 0))}, false, true},
		"the term's server lags":               {[]step{watched(at(6, 0)), read(at(5, 0))}, true, true},
		"created in a listed folder":           {[]step{listed(), watched(at(5, 0))}, true, true},
		"absent from a listed folder":          {[]step{listed(), watched(gone)}, false, false},
		"listed, and not read yet":             {[]step{listed(path), watched(at(5, 0))}, false, true},
		"listed, then read":                    {[]step{listed(path), watched(at(5, 0)), read(at(5, 0))}, false, true},
		"listed, read, then removed":           {[]step{listed(path), read(at(5, 0)), watched(gone)}, true, false},
		"created by the term":                  {[]step{listed(), wrote(opCreate, 7), watched(at(7, 0))}, false, true},
		"set by the term":                      {[]step{read(at(5, 2)), wrote(opSet, 7), watched(at(7, 2))}, false, true},
		"set by another client after the term": {[]step{read(at(5, 2)), wrote(opSet, 7), watched(at(8, 2))}, true, true},
		"deleted by the term":                  {[]step{read(at(5, 0)), wrote(opDelete, 7), watched(gone)}, false, false},
		"deleted by the term, and created again by another client": {[]step{read(at(5, 0)), wrote(opDelete, 7), watched(gone), watched(at(8, 0))}, true, true},
		"removed according to the watch and to a read":             {[]step{listed(path), watched(gone), read(gone), watched(gone)}, false, false},
	} {
		k := newNodeStates()
		for i, do := range c.steps {
			if got, what := do(k); got != (c.want && i == len(c.steps)-1) {
				t.Errorf("%s: step %d: %s: %v", name, i, what, got)
			}
		}
		if exists, _ := k.exists(path); exists != c.exists {
			t.Errorf("%s: exists returns %v", name, exists)
		}
	}
}

// TestReportOutlivesTheSession checks that a reported path that is not received before the watch's session ends is
// still reported, because the next session would not report it again.
func TestReportOutlivesTheSession(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end()
	term := &term{states: newNodeStates(), ctx: t.Context()}
	term.states.recordRead("/config/job/a", state{true, 5, 0}, false)
	w := &watcher{documents: newDocuments(term), ctx: ended}
	result := make(chan error, 1)
	go func() { result <- w.reportChanges([]string{"/config/job/a"}, []*zk.Stat{{Mzxid: 6}}) }()
	if got := <-w.changed; got != "/config/job/a" {
		t.Errorf("%s is reported", got)
	}
	if err := <-result; err != nil {
		t.Error(err)
	}
}
