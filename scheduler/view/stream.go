package view

import (
	"maps"
	"slices"
	"sync"

	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// Event lists the changes since the last event of a stream.
type Event struct {
	Jobs       []string `json:"jobs"`
	Executions []string `json:"executions"`
	Apps       []string `json:"apps"`
	Cluster    bool     `json:"cluster"`
	// All is set if any job, execution or app may have changed, or more of them have changed than an event can name.
	// The lists are then empty.
	All bool `json:"all"`
}

// maxEventNames is the maximum number of names in an event.
const maxEventNames = 200

// Stream merges changes until its reader takes them. So a slow reader misses nothing, and uses no more memory than one
// event takes.
type Stream struct {
	jobs    *Jobs
	scope   explain.Scope
	changed chan struct{}
	ended   chan struct{}

	mu    sync.Mutex
	names names
}

// Follow opens a stream of the changes in a scope. With a scope of all apps it includes changes of the whole cluster.
// Close and the end of Run end the stream. Follow fails after Run has ended.
func (j *Jobs) Follow(scope explain.Scope) (*Stream, error) {
	s := &Stream{jobs: j, scope: scope, changed: make(chan struct{}, 1), ended: make(chan struct{})}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.streams == nil {
		return nil, problem.Errorf(problem.Unavailable, "term_ended", "the term has ended: try again shortly")
	}
	j.streams[s] = struct{}{}
	return s, nil
}

// Close ends the stream for its reader.
func (s *Stream) Close() {
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	delete(s.jobs.streams, s)
}

// Changed receives a value when Take has something to return.
func (s *Stream) Changed() <-chan struct{} { return s.changed }

// Ended is closed when the leader's term has ended.
func (s *Stream) Ended() <-chan struct{} { return s.ended }

// Take returns the changes since it was last called; false if there are none.
func (s *Stream) Take() (Event, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.names
	s.names = names{}
	e := Event{Jobs: sorted(n.jobs), Executions: sorted(n.executions), Apps: sorted(n.apps), Cluster: n.cluster,
		All: n.all}
	return e, !n.isEmpty()
}

// sorted returns the names of a set, sorted.
func sorted(set map[string]struct{}) []string {
	out := slices.AppendSeq(make([]string, 0, len(set)), maps.Keys(set))
	slices.Sort(out)
	return out
}

// endStreams ends all streams, and prevents new ones.
func (j *Jobs) endStreams() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for s := range j.streams {
		close(s.ended)
	}
	j.streams = nil
}

// notifyStreams adds changes to all streams.
func (j *Jobs) notifyStreams(n *names) {
	j.mu.Lock()
	streams := slices.Collect(maps.Keys(j.streams))
	j.mu.Unlock()
	for _, s := range streams {
		if s.add(n, func(job string) bool { return slices.ContainsFunc(j.apps[job], s.scope.Covers) }) {
			select {
			case s.changed <- struct{}{}:
			default:
			}
		}
	}
}

// add merges the changes that the stream's reader may see, and reports whether the stream has any changes now. visible
// reports whether a scope of some apps covers a job.
func (s *Stream) add(n *names, visible func(job string) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scope.IsAll() {
		s.names.cluster = s.names.cluster || n.cluster
		visible = func(string) bool { return true }
	}
	s.names.all = s.names.all || n.all
	if s.scope.IsAll() && len(n.jobs)+len(n.executions)+len(n.apps) > maxEventNames {
		s.names.all = true
	}
	for name := range n.jobs {
		if s.names.all {
			break
		}
		if visible(name) {
			s.addName(&s.names.jobs, name)
		}
	}
	for id := range n.executions {
		if s.names.all {
			break
		}
		if visible(jobOf(id)) {
			s.addName(&s.names.executions, id)
		}
	}
	for name := range n.apps {
		if s.names.all {
			break
		}
		if s.scope.Covers(name) {
			s.addName(&s.names.apps, name)
		}
	}
	if s.names.all {
		s.names.jobs, s.names.executions, s.names.apps = nil, nil, nil
	}
	return !s.names.isEmpty()
}

// addName adds a name to a set of the stream, and sets all if the stream has too many names now.
func (s *Stream) addName(set *map[string]struct{}, name string) {
	addName(set, name)
	s.names.all = len(s.names.jobs)+len(s.names.executions)+len(s.names.apps) > maxEventNames
}
