package scheduler_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler"
)

// edited is a registry in which somebody else changes entries.
type edited struct {
	registry.Registry
	changed chan string
	mu      sync.Mutex
	entries map[string]registry.Entry
}

func (r *edited) Campaign(ctx context.Context, who string) (registry.Term, error) {
	t, err := r.Registry.Campaign(ctx, who)
	return editedTerm{t, r}, err
}

func (r *edited) edit(path, value string, version int64) {
	r.mu.Lock()
	r.entries[path] = registry.Entry{Path: path, Value: []byte(value), Version: version}
	r.mu.Unlock()
	r.changed <- path
}

type editedTerm struct {
	registry.Term
	r *edited
}

func (t editedTerm) Changed() <-chan string { return t.r.changed }

func (t editedTerm) Get(ctx context.Context, path string) (registry.Entry, error) {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	if e, ok := t.r.entries[path]; ok {
		return e, nil
	}
	return t.Term.Get(ctx, path)
}

func TestChangesByOthersAreTakenOver(t *testing.T) {
	t.Parallel()
	reg := &edited{Registry: openFile(t), changed: make(chan string), entries: map[string]registry.Entry{}}
	log := &logged{}
	l := leadWith(t, &fakeCluster{}, scheduler.Options{Registry: reg, Logger: log.logger()})
	l.publish(t)
	v, err := l.Job(t.Context(), "my_job")
	if err != nil {
		t.Fatal(err)
	}
	v.Config.Description = "by hand"
	document, err := json.Marshal(v.Config)
	if err != nil {
		t.Fatal(err)
	}
	described := func(want string) func() bool {
		return func() bool {
			v, err := l.Job(t.Context(), "my_job")
			return err == nil && v.Config.Description == want
		}
	}
	begin := time.Now()
	reg.edit("/config/job/my_job", string(document), 1)
	eventually(t, "the edited document is in force", described("by hand"))
	if took := time.Since(begin); took > time.Second {
		t.Errorf("it took %s", took)
	}
	reg.edit("/config/job/my_job", "{broken", 2)
	eventually(t, "the broken one is logged", func() bool {
		e, err := l.Explain(t.Context(), "my_job")
		return err == nil && len(e.Notes) > 0
	})
	if !described("by hand")() {
		t.Error("the last good document is not in force")
	}
	reg.edit("/state/disable/job/my_job", "my_job", 0)
	eventually(t, "the disabled mark is applied", func() bool {
		v, err := l.Job(t.Context(), "my_job")
		return err == nil && v.Disabled
	})
	eventually(t, "the log names all three", func() bool {
		return log.has("path=/config/job/my_job edit=edited") && log.has("/config/job/my_job: ") &&
			log.has("path=/state/disable/job/my_job edit=made")
	})
}

// TestManyChangesByOthersBlockNothing: requests are answered between them.
func TestManyChangesByOthersBlockNothing(t *testing.T) {
	t.Parallel()
	reg := &edited{Registry: openFile(t), changed: make(chan string, 1000), entries: map[string]registry.Entry{}}
	l := leadWith(t, &fakeCluster{}, scheduler.Options{Registry: reg})
	l.publish(t)
	const many = 30_000
	delivered := make(chan struct{})
	go func() {
		defer close(delivered)
		for i := range many {
			reg.changed <- fmt.Sprintf("/config/job/none-%d", i)
		}
	}()
	for range 5 {
		begin := time.Now()
		l.runToEnd(t)
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("a run took %s", took)
		}
	}
	<-delivered
}
