package supervisor_test

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/lease"
	"github.com/elasticjob-go/elasticjob/executor/supervisor"
)

// TestTheEndOfALeaseEndsItsProcess checks that the supervisor itself ends a process when its lease is over, and gives
// it its grace. If the lease was renewed, the process lives until the renewed lease is over.
func TestTheEndOfALeaseEndsItsProcess(t *testing.T) {
	t.Parallel()
	client := launch(t)
	for name, test := range map[string]struct {
		script       string
		until, renew time.Duration // from now
		grace        time.Duration
		signal       syscall.Signal
	}{
		"it ends at SIGTERM":           {"echo up; exec sleep 1000", 300 * time.Millisecond, 0, time.Minute, syscall.SIGTERM},
		"it ignores SIGTERM":           {"trap '' TERM; echo up; while :; do sleep 0.01; done", 300 * time.Millisecond, 0, 200 * time.Millisecond, syscall.SIGKILL},
		"without grace":                {"trap '' TERM; echo up; while :; do sleep 0.01; done", 300 * time.Millisecond, 0, 0, syscall.SIGKILL},
		"the lease was renewed":        {"echo up; exec sleep 1000", 300 * time.Millisecond, time.Second, time.Minute, syscall.SIGTERM},
		"an older renewal comes later": {"echo up; exec sleep 1000", time.Second, 300 * time.Millisecond, time.Minute, syscall.SIGTERM},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := shell(t.TempDir(), "lease", test.script)
			began := lease.Now()
			spec.Until, spec.LeaseGrace = began+test.until, test.grace
			process := start(t, client, spec)
			if test.renew > 0 {
				if err := process.Renew(began + test.renew); err != nil {
					t.Fatal(err)
				}
			}
			content(t, filepath.Join(spec.Dir, "lease.out"))
			exit := wait(t, process)
			if !exit.Killed || !exit.LeaseOver || exit.Signal != int(test.signal) {
				t.Errorf("%+v", exit)
			}
			if lived := lease.Now() - began; lived < max(test.until, test.renew) {
				t.Errorf("it was ended after %s", lived)
			}
		})
	}
}

// TestNothingStartsAfterItsLease checks that the supervisor starts no process whose lease is over.
func TestNothingStartsAfterItsLease(t *testing.T) {
	t.Parallel()
	client := launch(t)
	spec := shell(t.TempDir(), "late", "exec sleep 1000")
	spec.Until = lease.Now()
	_, err := client.Start(spec)
	if failed := (*supervisor.StartError)(nil); !errors.As(err, &failed) || failed.Errno != syscall.ETIME {
		t.Errorf("started: %v", err)
	}
}

// TestAProcessWithoutLeaseStays checks that the end of one lease ends nothing else.
func TestAProcessWithoutLeaseStays(t *testing.T) {
	t.Parallel()
	client := launch(t)
	free := start(t, client, shell(t.TempDir(), "free", "exec sleep 1000"))
	spec := shell(t.TempDir(), "leased", "exec sleep 1000")
	spec.Until = lease.Now() + 200*time.Millisecond
	wait(t, start(t, client, spec))
	select {
	case <-free.Done():
		t.Error("the process without a lease has ended, too")
	default:
	}
}
