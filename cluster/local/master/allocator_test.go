package master

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	mesos "github.com/mesos/mesos-go/api/v1/lib"

	"github.com/elasticjob-go/elasticjob/cluster/local/link"
)

// silent checks that no offer is sent: after a run of the allocator, the next event is the answer to a RECONCILE.
func (f *testFramework) silent() {
	f.w.t.Helper()
	f.w.master.mu.Lock()
	f.w.master.allocate(time.Now())
	f.w.master.mu.Unlock()
	f.call("RECONCILE", `"reconcile":{"tasks":[{"task_id":{"value":"marker"},"agent_id":{"value":"another"}}]}`)
	if got := f.status(); dig(got, "task_id", "value") != "marker" {
		f.w.t.Fatalf("%v", got)
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(link.Registration{})
	f := w.subscribed("")
	f.decline(3600, f.offer())
	f.silent()
	f.call("REVIVE", "")
	offer := f.offer()
	f.call("SUPPRESS", "")
	f.decline(0, offer)
	f.silent()
	f.call("REVIVE", "")
	f.accept(3600, f.offer(), command("t", a.id(), 1, 100))
	f.silent()
	f.call("REVIVE", "")
	// A short filter expires by itself.
	f.decline(0.01, f.offer())
	f.offer()
}

func TestRefusalIsMesos(t *testing.T) {
	t.Parallel()
	seconds := func(s float64) *mesos.Filters { return &mesos.Filters{RefuseSeconds: &s} }
	for _, tt := range []struct {
		filters *mesos.Filters
		want    time.Duration
	}{
		{nil, 5 * time.Second},
		{&mesos.Filters{}, 5 * time.Second},
		{seconds(-1), 5 * time.Second},
		{seconds(0), 0},
		{seconds(1.5), 1500 * time.Millisecond},
		{seconds(1e300), 365 * 24 * time.Hour},
	} {
		if got := refuseTime(tt.filters); got != tt.want {
			t.Errorf("%v: %v, expected %v", tt.filters, got, tt.want)
		}
	}
}

// Resources that one framework declined are offered to another.
func TestDeclinedOffersGoToOthers(t *testing.T) {
	t.Parallel()
	w := start(t)
	one := w.subscribed("one")
	w.agent(link.Registration{})
	offer := one.offer()
	other := w.subscribed("other")
	one.decline(3600, offer)
	other.decline(3600, other.offer())
	one.silent()
	other.silent()
}

func TestSuppressedRoleOfASubscription(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.agent(link.Registration{})
	f := w.subscribed("")
	f.offer()
	body := fmt.Sprintf(`{"type":"SUBSCRIBE","framework_id":{"value":%q},"subscribe":{"suppressed_roles":["*"],"framework_info":{"user":"root","name":"x","id":{"value":%q}}}}`, f.id, f.id)
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The stream ends when the next subscriber takes over.
		w.do("POST", body, map[string]string{"Content-Type": "application/json"})
	}()
	f.next("ERROR")
	w.master.mu.Lock()
	if !w.master.frameworks[f.id].suppressed || len(w.master.offers) != 0 {
		t.Error("the framework has offers")
	}
	w.master.mu.Unlock()
	w.subscribed(f.id).offer()
	<-done
}

func TestResourcesAddUp(t *testing.T) {
	t.Parallel()
	one := rapid.Custom(func(t *rapid.T) (r resources) {
		for i := range r {
			r[i] = rapid.Int64Range(0, 5).Draw(t, resourceNames[i])
		}
		return r
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := one.Draw(t, "a"), one.Draw(t, "b")
		sum := a.plus(b)
		if !sum.contains(a) || !sum.contains(b) {
			t.Fatalf("%v + %v = %v contains not both", a, b, sum)
		}
		if sum.minus(b) != a {
			t.Fatalf("%v + %v - %v = %v", a, b, b, sum.minus(b))
		}
		if a.contains(b) != (b.minus(a) == resources{}) {
			t.Fatalf("%v contains %v: %v, but %v is left", a, b, a.contains(b), b.minus(a))
		}
		if back, fault := parse(a.proto()); back != a || fault != "" {
			t.Fatalf("%v is sent as %v, %s", a, back, fault)
		}
	})
}
