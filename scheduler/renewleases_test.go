package scheduler_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/lease"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// TestRenewLeases checks that a request with the holder's signature is answered, that any other is refused, and that no
// answer leaves unless the registry confirms the term.
func TestRenewLeases(t *testing.T) {
	leading(t, givesLeases, func(t *testing.T, s *stage) {
		r := lease.Request{Holder: "x", Start: 1, Number: 1}
		if _, err := s.RenewLeases(t.Context(), r.Seal("key")); !errors.Is(err, lease.ErrSignature) {
			t.Errorf("before any exclusive task: %v", err)
		}
		grant, task := launchExclusive(t, s)
		r = lease.Request{Holder: grant.Holder, Start: 1, Number: 1, Tasks: []string{task}}
		for name, test := range map[string]struct {
			key       string
			onConfirm func() error
			err       error
		}{
			"confirmed":            {grant.Key, nil, nil},
			"not confirmed":        {grant.Key, func() error { return registry.ErrTermEnded }, registry.ErrTermEnded},
			"signed by a stranger": {"key", func() error { return fmt.Errorf("%s: it must not be asked", t.Name()) }, lease.ErrSignature},
		} {
			s.registry.confirmWith(test.onConfirm)
			m, err := s.RenewLeases(t.Context(), r.Seal(test.key))
			r.Number++
			if !errors.Is(err, test.err) || err != nil && m.Body != nil {
				t.Errorf("%s: %v, %s", name, err, m.Body)
			}
			if err != nil {
				continue
			}
			if a, err := m.OpenAnswer(grant.Key); err != nil || !slices.Equal(a.Granted, r.Tasks) {
				t.Errorf("%s: %+v, %v", name, a, err)
			}
		}
		s.registry.confirmWith(nil)
		r.Number = 1
		if m, err := s.RenewLeases(t.Context(), r.Seal(grant.Key)); err == nil {
			t.Errorf("a copy is answered: %s", m.Body)
		}
	})
}

// TestRenewLeasesByMessage checks that a request that comes by way of the cluster is answered the same way, once the
// registry has confirmed the term.
func TestRenewLeasesByMessage(t *testing.T) {
	leading(t, givesLeases, func(t *testing.T, s *stage) {
		grant, task := launchExclusive(t, s)
		r := lease.Request{Holder: grant.Holder, Start: 1, Tasks: []string{task}}
		ask := func() []byte {
			r.Number++
			m := r.Seal(grant.Key)
			s.cluster.session.send(cluster.Message{AgentID: "S1", ExecutorID: grant.Holder, Lease: &m})
			time.Sleep(10 * time.Second)
			s.cluster.mu.Lock()
			defer s.cluster.mu.Unlock()
			return s.cluster.sent
		}
		s.registry.confirmWith(func() error { return registry.ErrTermEnded })
		if data := ask(); data != nil {
			t.Errorf("answered without a confirmed term: %s", data)
		}
		s.registry.confirmWith(nil)
		m, ok := lease.Unpack(ask())
		a, err := m.OpenAnswer(grant.Key)
		if !ok || err != nil || a.Number != r.Number || !slices.Equal(a.Granted, r.Tasks) {
			t.Errorf("got %+v, %v", a, err)
		}
	})
}

// TestAStandbyGivesNoLease checks that only a leader answers.
func TestAStandbyGivesNoLease(t *testing.T) {
	leading(t, nil, func(t *testing.T, s *stage) {
		other := s.another("other:1")
		m, err := other.RenewLeases(t.Context(), lease.Request{Holder: "x"}.Seal("key"))
		if err == nil || errors.Is(err, lease.ErrSignature) {
			t.Errorf("got %v, %s", err, m.Body)
		}
	})
}

// givesLeases makes the scheduler tell executors where to request leases, and makes tasks run without end.
func givesLeases(s *stage) {
	s.cluster.holds = true
	s.opt.Core.LeaseURLs = []string{"http://me:2"}
}

// launchExclusive launches an exclusive task, and returns its grant and id.
func launchExclusive(t *testing.T, s *stage) (grant lease.Grant, task string) {
	t.Helper()
	j := jobs.Default()
	j.JobName, j.AppName, j.JobExecutionType, j.ShardingTotalCount, j.CPUCount, j.MemoryMB = "alone", "my_app",
		jobs.Transient, 1, 0.1, 32
	j.Exclusive = true
	if _, err := s.RegisterJob(t.Context(), explain.All(), j); err != nil {
		t.Fatal(err)
	}
	id, err := s.Trigger(t.Context(), explain.All(), "alone", "")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "it runs", func() bool {
		v, err := see(t.Context(), s.Scheduler, explain.Reader.Execution, id)
		if err != nil || len(v.Shards) != 1 || v.Shards[0].State != "RUNNING" {
			return false
		}
		task = v.Shards[0].TaskID
		return true
	})
	s.cluster.mu.Lock()
	defer s.cluster.mu.Unlock()
	return *s.cluster.lease, task
}
