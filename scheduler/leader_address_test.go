package scheduler_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// TestItsOwnAddressLeads: the log says what it likely is, and not that another server was found there.
func TestItsOwnAddressLeads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &logged{}
		r := &quiet{leader: registry.Leader{Term: 4, Address: "me:1", Since: time.Now()}}
		s := scheduler.New(scheduler.Options{Registry: r, Core: core.DefaultOptions(), Advertise: "me:1", Logger: log.logger()})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.Stand(ctx) }()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if log.count("duplicate address") != 1 || !log.has("an earlier run of it") || log.has("self=true") || !strings.Contains(s.Health().Detail, "--advertise") {
			t.Errorf("after 5 minutes: %s; %+v", log.text.String(), s.Health())
		}
		cancel()
		<-ended
	})
}

// TestALeaderLogsThatItLeads: the log says that this server leads, and does not call it another server.
func TestALeaderLogsThatItLeads(t *testing.T) {
	t.Parallel()
	log := &logged{}
	s := scheduler.New(scheduler.Options{Registry: openFile(t), Driver: &fakeCluster{}, Core: core.DefaultOptions(), Advertise: "me:1", Logger: log.logger()})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Stand(ctx) }()
	eventually(t, "it is logged", func() bool { return log.has(`msg="leader changed" self=true address=me:1`) })
	cancel()
	<-ended
	if log.has("self=false") {
		t.Error(log.text.String())
	}
}

// TestTheErrorWithoutALeaderSaysWhatIsKnown: a request without a leader is refused with what this server knows of the election.
func TestTheErrorWithoutALeaderSaysWhatIsKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &logged{}
		s := scheduler.New(scheduler.Options{Registry: nobody{}, Core: core.DefaultOptions(), Advertise: "me:1", Logger: log.logger()})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := s.Stand(ctx); err != nil || log.count("no leader known") != 1 || !log.has("ZooKeeper is away") {
			t.Errorf("%v: %s", err, log.text.String())
		}
	})
}

// nobody is a registry that can't be reached.
type nobody struct{ registry.Registry }

func (nobody) Campaign(ctx context.Context, _ string) (registry.Term, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (nobody) Leader() (registry.Leader, bool) { return registry.Leader{}, false }

func (nobody) Trouble() error { return errors.New("ZooKeeper is away") }
