package master

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mesos/mesos-go/api/v1/lib"
)

// reservedAgent has 2 CPUs and 1,024 MB for role batch beside 1 CPU and 512 MB for all.
func (w *world) reservedAgent() *memoryAgent {
	w.t.Helper()
	a := newAgent("S-reserved", 1, 512)
	role := "batch"
	for name, value := range map[string]float64{"cpus": 2, "mem": 1024} {
		a.info.Resources = append(a.info.Resources, mesos.Resource{
			Name: name, Type: mesos.SCALAR.Enum(), Scalar: &mesos.Value_Scalar{Value: value}, Role: &role})
	}
	if err := w.master.Register(a, Recovered{}); err != nil {
		w.t.Fatal(err)
	}
	return a
}

// amounts writes the CPUs and memory of an offer: name, role, reservation, value.
func amounts(offer map[string]any) string {
	var parts []string
	for _, r := range offer["resources"].([]any) {
		if name := dig(r, "name"); name == "cpus" || name == "mem" {
			part := fmt.Sprintf("%s(%s", name, dig(r, "role"))
			if reservation, there := r.(map[string]any)["reservation"]; there {
				part += " " + compact(reservation)
			}
			parts = append(parts, fmt.Sprintf("%s):%v", part, dig(r, "scalar", "value")))
		}
	}
	return strings.Join(parts, " ")
}

func reservedTask(id, agent, role string, cpus float64) string {
	return fmt.Sprintf(`{"name":"n","task_id":{"value":%q},"agent_id":{"value":%q},"resources":[{"name":"cpus","type":"SCALAR","role":%q,"scalar":{"value":%v}},`+
		`{"name":"mem","type":"SCALAR","scalar":{"value":32}}],"command":{"value":"true"}}`, id, agent, role, cpus)
}

// TestReservedResourcesAreForTheirRole: they are offered in Mesos' form to frameworks of the role only, and taken only
// by tasks that name them.
func TestReservedResourcesAreForTheirRole(t *testing.T) {
	t.Parallel()
	w := start(t)
	other, batch := w.subscribed("a-other", `,"role":"other"`), w.subscribed("b-batch", `,"role":"batch"`)
	a := w.reservedAgent()
	if got := amounts(other.offer()); got != "cpus(*):1 mem(*):512" {
		t.Errorf("another role is offered %s", got)
	}
	offer := batch.offer()
	if got := amounts(offer); got != "cpus(batch):2 mem(batch):1024" {
		t.Errorf("the role is offered %s", got)
	}
	batch.accept(0, offer, reservedTask("unreserved", a.id(), "*", 1))
	if got := batch.status(); got["state"] != "TASK_ERROR" || got["reason"] != "REASON_TASK_INVALID" || !strings.Contains(got["message"].(string), "is more than available") {
		t.Errorf("a task that names other resources than the offer: %s", compact(got))
	}
	if got := amounts(batch.offer()); got != "cpus(batch):2 mem(batch):1024" {
		t.Errorf("after that the role is offered %s", got)
	}
}

// TestReserveResources makes dynamic reservations, as an operator does, and undoes one; answers and texts are those of
// Mesos 1.12.
func TestReserveResources(t *testing.T) {
	t.Parallel()
	w := start(t)
	f := w.subscribed("", `,"role":"batch"`)
	a := w.agent(Recovered{})
	f.offer()
	change := func(kind, agent, name string, value float64, reservation string) answer {
		return w.at("/api/v1", fmt.Sprintf(`{"type":%q,%q:{"agent_id":{"value":%q},"resources":[{"name":%q,"type":"SCALAR","scalar":{"value":%v}%s}]}}`,
			kind+"_RESOURCES", strings.ToLower(kind)+"_resources", agent, name, value, reservation))
	}
	const labelled = `,"reservations":[{"type":"DYNAMIC","role":"batch","principal":"ops","labels":{"labels":[{"key":"k","value":"two"}]}}]`
	const bare = `,"reservations":[{"type":"DYNAMIC","role":"batch"}]`
	for _, test := range []struct {
		kind, agent, name string
		value             float64
		reservation       string
		status            int
		text              string
	}{
		{"RESERVE", "nope", "cpus", 1, bare, http.StatusBadRequest, "No agent found with specified ID"},
		{"RESERVE", a.id(), "cpus", 99, bare, http.StatusConflict, " does not contain cpus:99"},
		{"RESERVE", a.id(), "cpus", 1, "", http.StatusBadRequest, "Resource cpus:1 is not dynamically reserved"},
		{"RESERVE", a.id(), "cpus", 1, `,"reservations":[{"type":"STATIC","role":"batch"}]`, http.StatusBadRequest, "Resource cpus(reservations: [(STATIC,batch)]):1 is not dynamically reserved"},
		{"UNRESERVE", a.id(), "cpus", 7, labelled, http.StatusConflict, " does not contain cpus(reservations: [(DYNAMIC,batch,ops,{k: two})]):7"},
		{"RESERVE", a.id(), "cpus", 2, labelled, http.StatusAccepted, ""},
		{"RESERVE", a.id(), "cpus", 0.5, `,"role":"batch","reservation":{}`, http.StatusAccepted, ""},
		{"RESERVE", a.id(), "mem", 1024, bare, http.StatusAccepted, ""},
		{"UNRESERVE", a.id(), "cpus", 0.5, labelled, http.StatusAccepted, ""},
	} {
		if got := change(test.kind, test.agent, test.name, test.value, test.reservation); got.Status != test.status || !strings.HasSuffix(got.Body, test.text) {
			t.Errorf("%s %s %v of %s: %+v", test.kind, test.name, test.value, test.agent, got)
		}
	}
	const want = `cpus(*):6 cpus(batch {"labels":{"labels":[{"key":"k","value":"two"}]},"principal":"ops"}):1.5 cpus(batch {}):0.5 mem(*):7168 mem(batch {}):1024`
	last := ""
	for last != want { // what was offered before a change is rescinded by it
		f.next("RESCIND")
		last = amounts(f.offer())
	}
	// The next master knows what was reserved when the agent comes back.
	w.stop()
	next := startIn(t, w.dir)
	again := next.subscribed(f.id, `,"role":"batch"`)
	if err := next.master.Register(newAgent(a.id(), 8, 8192), Recovered{}); err != nil {
		t.Fatal(err)
	}
	if got := amounts(again.offer()); got != want {
		t.Errorf("after a restart: %s", got)
	}
}
