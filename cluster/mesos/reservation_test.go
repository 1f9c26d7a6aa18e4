package mesos

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	mesos "github.com/mesos/mesos-go/api/v1/lib"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// TestAReservationIsNamedAsItWasOffered checks that a launch repeats a reservation exactly as the offer described it.
// Otherwise the master finds that the task uses more than the available resources.
func TestAReservationIsNamedAsItWasOffered(t *testing.T) {
	t.Parallel()
	text := func(labels ...mesos.Label) *mesos.Labels { return &mesos.Labels{Labels: labels} }
	keys := map[string]bool{}
	for name, info := range map[string]*mesos.Resource_ReservationInfo{
		"static":             nil,
		"dynamic":            {},
		"principal":          {Principal: ptr("ops")},
		"empty principal":    {Principal: ptr("")},
		"labels":             {Labels: text(mesos.Label{Key: "a", Value: ptr("<1>")}, mesos.Label{Key: "b"})},
		"labels, other way":  {Labels: text(mesos.Label{Key: "b"}, mesos.Label{Key: "a", Value: ptr("<1>")})},
		"label without text": {Labels: text(mesos.Label{Key: "b", Value: ptr("")})},
		"no labels":          {Labels: text()},
	} {
		offered := mesos.Resource{Name: "cpus", Type: mesos.SCALAR.Enum(), Scalar: &mesos.Value_Scalar{Value: 1.5},
			Role: ptr("batch"), Reservation: info}
		total, reserved := usable([]mesos.Resource{offered})
		if len(reserved) != 1 || reserved[0].Resources != total || keys[reserved[0].Key] {
			t.Errorf("%s: %+v of %+v", name, reserved, total)
			continue
		}
		keys[reserved[0].Key] = true
		sent, err := reservations{}.resourcesOf(total, reserved)
		if err != nil || len(sent) != 1 || !sent[0].Equal(&offered) {
			t.Errorf("%s: sent %v, %v, want %v", name, sent, err, offered)
		}
	}
}

func TestResourcesAreSplitIntoTheirReservations(t *testing.T) {
	t.Parallel()
	const static, dynamic = `{"role":"batch"}`, `{"role":"batch","dynamic":true}`
	sent, err := reservations{}.resourcesOf(resources.Amount{CPUMilli: 1500, MemMilli: 64_000}, []cluster.Reserved{
		{Key: static, Resources: resources.Amount{CPUMilli: 1000}},
		{Key: dynamic, Resources: resources.Amount{CPUMilli: 100, MemMilli: 64_000}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []mesos.Resource{}
	add := func(name string, value float64, role *string, info *mesos.Resource_ReservationInfo) {
		want = append(want, mesos.Resource{Name: name, Type: mesos.SCALAR.Enum(),
			Scalar: &mesos.Value_Scalar{Value: value}, Role: role, Reservation: info})
	}
	add("cpus", 1, ptr("batch"), nil)
	add("cpus", 0.1, ptr("batch"), &mesos.Resource_ReservationInfo{})
	add("mem", 64, ptr("batch"), &mesos.Resource_ReservationInfo{})
	add("cpus", 0.4, nil, nil)
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestInvalidReservationsAreRefused(t *testing.T) {
	t.Parallel()
	for _, reserved := range []cluster.Reserved{
		{Key: "batch", Resources: resources.Amount{CPUMilli: 1}},
		{Key: "", Resources: resources.Amount{CPUMilli: 1}},
		{Key: `{"role":"batch","refined":true}`, Resources: resources.Amount{CPUMilli: 1}},
		{Key: `{"role":"batch"}`, Resources: resources.Amount{CPUMilli: 101}},
		{Key: `{"role":"batch"}`, Resources: resources.Amount{CPUMilli: -1}},
	} {
		task := cluster.TaskLaunch{TaskID: "t1", Resources: resources.Amount{CPUMilli: 100},
			Reserved: []cluster.Reserved{reserved}}
		task.Executor = cluster.Executor{Version: 3, ID: "e", Command: []string{"./executor"}}
		if _, err := acceptCall(cluster.Launch{Tasks: []cluster.TaskLaunch{task}}); err == nil ||
			!strings.Contains(err.Error(), "task t1") {
			t.Errorf("%+v: %v", reserved, err)
		}
	}
}
