package master

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const window = `{"type":"UPDATE_MAINTENANCE_SCHEDULE","update_maintenance_schedule":{"schedule":{"windows":[%s]}}}`

// There is no recording of it: it is as Mesos documents it.
func TestMaintenance(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(Recovered{})
	f := w.subscribed("")
	f.accept(0, f.offer(), command("t1", a.id(), 1, 64))
	if when := f.offer()["unavailability"]; when != nil {
		t.Fatalf("offered with %v", when)
	}
	plan := fmt.Sprintf(window, `{"machine_ids":[{"hostname":"127.0.0.1","ip":"127.0.0.1"}],"unavailability":{"start":{"nanoseconds":1700000000000000000},"duration":{"nanoseconds":3600000000000}}}`)
	if got := w.at("/api/v1", plan); got.Status != http.StatusOK || got.Body != "" {
		t.Fatalf("answered %+v", got)
	}
	f.next("RESCIND")
	back := dig(f.next("INVERSE_OFFERS"), "inverse_offers", "inverse_offers", 0)
	if dig(back, "agent_id", "value") != a.id() {
		t.Errorf("asked back %s", compact(back))
	}
	want := map[string]any{"start": map[string]any{"nanoseconds": 1.7e18}, "duration": map[string]any{"nanoseconds": 3.6e12}}
	offer := f.offer()
	if diff := cmp.Diff(any(want), offer["unavailability"]); diff != "" {
		t.Error(diff)
	}
	f.decline(0, offer)
	f.offer()
	w.stop()

	// The next master knows it.
	next := startIn(t, w.dir)
	got := next.at("/api/v1", `{"type":"GET_MAINTENANCE_SCHEDULE"}`)
	var told map[string]any
	if err := json.Unmarshal([]byte(got.Body), &told); err != nil {
		t.Fatalf("answered %+v: %v", got, err)
	}
	if diff := cmp.Diff(any(want), dig(told, "get_maintenance_schedule", "schedule", "windows", 0, "unavailability")); diff != "" {
		t.Error(diff)
	}
	if got := next.at("/api/v1", fmt.Sprintf(window, "")); got.Status != http.StatusOK {
		t.Fatalf("answered %+v", got)
	}
	next.agent(Recovered{})
	if when := next.subscribed("").offer()["unavailability"]; when != nil {
		t.Errorf("offered with %v", when)
	}
}

func TestMaintenanceThatIsNone(t *testing.T) {
	t.Parallel()
	w := start(t)
	for name, body := range map[string]string{
		"no schedule":   `{"type":"UPDATE_MAINTENANCE_SCHEDULE"}`,
		"no machine":    fmt.Sprintf(window, `{"machine_ids":[],"unavailability":{"start":{"nanoseconds":1}}}`),
		"empty machine": fmt.Sprintf(window, `{"machine_ids":[{}],"unavailability":{"start":{"nanoseconds":1}}}`),
		"twice":         fmt.Sprintf(window, `{"machine_ids":[{"ip":"127.0.0.1"},{"ip":"127.0.0.1"}],"unavailability":{"start":{"nanoseconds":1}}}`),
		"backwards":     fmt.Sprintf(window, `{"machine_ids":[{"ip":"127.0.0.1"}],"unavailability":{"start":{"nanoseconds":1},"duration":{"nanoseconds":-1}}}`),
	} {
		if got := w.at("/api/v1", body); got.Status != http.StatusBadRequest || got.Body == "" {
			t.Errorf("%s: answered %+v", name, got)
		}
	}
}
