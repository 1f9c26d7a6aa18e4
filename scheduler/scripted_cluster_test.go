package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// scriptedDriver is a cluster that says what it is called.
type scriptedDriver struct{ s *shell }

func (d scriptedDriver) Subscribe(_ context.Context, f cluster.Framework) (cluster.Session, error) {
	d.s.say("CALL SUBSCRIBE as %s", f.ID)
	session := &scriptedSession{s: d.s, events: make(chan cluster.Event, 100)}
	d.s.session = session
	session.events <- cluster.Subscribed{FrameworkID: f.ID, MasterID: "master-1"}
	return session, nil
}

type scriptedSession struct {
	s      *shell
	events chan cluster.Event
	once   sync.Once
}

// call says a call, after others that come first at the same moment.
func (t *scriptedSession) call(place time.Duration, format string, args ...any) error {
	time.Sleep(place * time.Microsecond)
	t.s.say("CALL "+format, args...)
	return nil
}

func (t *scriptedSession) Events() <-chan cluster.Event { return t.events }

func (t *scriptedSession) Err() error { return errors.New("closed") }

func (t *scriptedSession) Close() error { t.once.Do(func() { close(t.events) }); return nil }

func (t *scriptedSession) Accept(_ context.Context, a cluster.Accept) error {
	var tasks []string
	for _, l := range a.Tasks {
		parsed, err := jobs.ParseTaskID(l.TaskID)
		if err != nil {
			return err
		}
		name := t.s.called(l.TaskID, fmt.Sprintf("%s/%d#", parsed.Job, parsed.Item))
		t.s.mu.Lock()
		t.s.ids[name] = l.TaskID
		t.s.mu.Unlock()
		tasks = append(tasks, name)
	}
	return t.call(1, "ACCEPT on %s: launch %s", a.AgentID, strings.Join(tasks, ", "))
}

func (t *scriptedSession) Kill(_ context.Context, k cluster.Kill) error {
	return t.call(2, "KILL %s", k.TaskID)
}

func (t *scriptedSession) Shutdown(_ context.Context, id, agent string) error {
	return t.call(3, "SHUTDOWN %s on %s", id, agent)
}

func (t *scriptedSession) Acknowledge(_ context.Context, a cluster.Ack) error {
	return t.call(4, "ACKNOWLEDGE %s", a.TaskID)
}

func (t *scriptedSession) Reconcile(_ context.Context, tasks []cluster.TaskRef) error {
	var ids []string
	for _, ref := range tasks {
		ids = append(ids, ref.TaskID)
	}
	return t.call(5, "RECONCILE %s", cmp.Or(strings.Join(ids, ", "), "everything"))
}

func (t *scriptedSession) Decline(context.Context, []string, time.Duration) error {
	return t.call(6, "DECLINE")
}

func (t *scriptedSession) Revive(context.Context) error { return t.call(7, "REVIVE") }

func (t *scriptedSession) Suppress(context.Context) error { return t.call(8, "SUPPRESS") }
