package zookeeper

import (
	"context"
	"testing"

	"github.com/go-zookeeper/zk"
)

// TestWhatIsNews checks what is reported about a document, by the order of what the term and the watch have observed.
func TestWhatIsNews(t *testing.T) {
	t.Parallel()
	const path = "/config/job/a"
	at := func(mzxid int64, aversion int32) state { return state{true, mzxid, aversion} }
	gone := state{}
	type step func(k *nodeStates) (bool, string)
	read := func(s state) step {
		return func(k *nodeStates) (bool, string) {
			return k.recordRead(path, s, false),
				"a read finds out that it is outdated"
		}
	}
	watched := func(s state) step {
		return func(k *nodeStates) (bool, string) { return k.recordWatch(path, s), "what the watch sees is news" }
	}
	wrote := func(kind opKind, zxid int64) step {
		return func(k *nodeStates) (bool, string) { k.recordWrite(path, kind, zxid); return false, "" }
	}
	listed := func(paths ...string) step {
		return func(k *nodeStates) (bool, string) { k.recordList("/config/job", paths); return false, "" }
	}
	for name, c := range map[string]struct {
		steps []step
		want  bool // of the last step; all others must return false
		there bool // known at the end
	}{
		"nobody has read it":                {[]step{watched(at(5, 0))}, false, true},
		"it is as it was read":              {[]step{read(at(5, 1)), watched(at(5, 1))}, false, true},
		"it was set since":                  {[]step{read(at(5, 0)), watched(at(6, 0))}, true, true},
		"its ACL has changed":               {[]step{read(at(5, 0)), watched(at(5, 1))}, true, true},
		"it went":                           {[]step{read(at(5, 0)), watched(gone)}, true, false},
		"it went and came":                  {[]step{read(at(5, 3)), watched(at(9, 0))}, true, true},
		"it was reported":                   {[]step{read(at(6, 0)), watched(at(6, 0)), watched(at(6, 0))}, false, true},
		"the watch's server lags":           {[]step{read(at(6, 0)), watched(at(5, 0))}, false, true},
		"the term's server lags":            {[]step{watched(at(6, 0)), read(at(5, 0))}, true, true},
		"it came into a folder that is":     {[]step{listed(), watched(at(5, 0))}, true, true},
		"known, and nothing is there":       {[]step{listed(), watched(gone)}, false, false},
		"it is listed, and not read yet":    {[]step{listed(path), watched(at(5, 0))}, false, true},
		"it is listed, and read then":       {[]step{listed(path), watched(at(5, 0)), read(at(5, 0))}, false, true},
		"listed, read, and seen to go":      {[]step{listed(path), read(at(5, 0)), watched(gone)}, true, false},
		"the term has made it":              {[]step{listed(), wrote(opCreate, 7), watched(at(7, 0))}, false, true},
		"the term has set it":               {[]step{read(at(5, 2)), wrote(opSet, 7), watched(at(7, 2))}, false, true},
		"somebody has set it after that":    {[]step{read(at(5, 2)), wrote(opSet, 7), watched(at(8, 2))}, true, true},
		"the term has deleted it":           {[]step{read(at(5, 0)), wrote(opDelete, 7), watched(gone)}, false, false},
		"and somebody has made it again":    {[]step{read(at(5, 0)), wrote(opDelete, 7), watched(gone), watched(at(8, 0))}, true, true},
		"read as gone, as the watch saw it": {[]step{listed(path), watched(gone), read(gone), watched(gone)}, false, false},
	} {
		k := newNodeStates()
		for i, do := range c.steps {
			if got, what := do(k); got != (c.want && i == len(c.steps)-1) {
				t.Errorf("%s: step %d: %s: %v", name, i, what, got)
			}
		}
		if there, _ := k.exists(path); there != c.there {
			t.Errorf("%s: known to be there: %v", name, there)
		}
	}
}

// A path that is not received before the watch's session ends is still reported, because the next session would take
// it for known.
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
