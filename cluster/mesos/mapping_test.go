package mesos_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	mesosapi "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/mesos"
	"github.com/elasticjob-go/elasticjob/internal/lease"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

var update = flag.Bool("update", false, "write golden files again: only with a new version of the mapping (rule X4)")

func TestScalarsAreExact(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	s := subscribe(t, mesos.Options{Masters: []string{m.url}})
	amounts := []int64{1, 3, 7, 100, 101, 333, 999, 1001, 64_000, 123_456_789}
	for _, a := range amounts {
		task := launch("t1")
		task.Resources = resources.Amount{CPUMilli: a, MemMilli: a}
		if err := s.Launch(t.Context(), cluster.Launch{AgentID: "S0", OfferIDs: []string{"o1"},
			Tasks: []cluster.TaskLaunch{task}}); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range m.requests(scheduler.Call_ACCEPT) {
		for _, r := range c.call.Accept.Operations[0].Launch.TaskInfos[0].Resources {
			text, _ := json.Marshal(r.Scalar.Value * 1) // the shortest decimal form of the double
			_, decimals, _ := strings.Cut(string(text), ".")
			if len(decimals) > 3 || r.Scalar.Value != float64(amounts[i])/1000 {
				t.Errorf("%d thousandths of %s became %s", amounts[i], r.Name, text)
			}
		}
	}
}

// Every recorded event of a real master arrives completely. The expectation is computed from the JSON independently.
func TestRecordings(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 5 {
		t.Fatalf("recordings: %v, %v", files, err)
	}
	kinds := map[string]int{}
	for _, file := range files {
		events := recordedEvents(t, file)
		m := newMaster(t)
		s := subscribe(t, mesos.Options{Masters: []string{m.url}})
		for _, recorded := range events {
			want := expected(t, recorded)
			if _, final := want.(cluster.FrameworkError); final {
				continue // it would end the session; it has a test of its own
			}
			m.send(convert(t, recorded))
			if diff := cmp.Diff(want, next(t, s)); diff != "" {
				t.Errorf("%s: (-want +got):\n%s", file, diff)
			}
			kinds[recorded["type"].(string)]++
		}
	}
	for _, kind := range []string{"SUBSCRIBED", "OFFERS", "UPDATE", "RESCIND", "FAILURE", "HEARTBEAT"} {
		if kinds[kind] == 0 {
			t.Errorf("no %s was recorded", kind)
		}
	}
}

// recordedEvents finds everything in a recording that looks like an event for a scheduler. Events for executors
// contain the agent's info and are skipped.
func recordedEvents(t *testing.T, file string) []map[string]any {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // nanoseconds need all digits
	if err := decoder.Decode(&all); err != nil {
		t.Fatal(err)
	}
	var found []map[string]any
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			kind, _ := v["type"].(string)
			content, ok := v[strings.ToLower(kind)].(map[string]any)
			if kind == "HEARTBEAT" || ok && scheduler.Event_Type_value[kind] != 0 && content["agent_info"] == nil {
				found = append(found, v)
				return
			}
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(all)
	return found
}

// convert converts a recorded event to mesos-go's type. It omits enum values that mesos-go does not know.
func convert(t *testing.T, recorded map[string]any) scheduler.Event {
	t.Helper()
	text, err := json.Marshal(recorded)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte(`,{"type":"QUOTA_V2"}`), nil)
	var e scheduler.Event
	if err := json.Unmarshal(text, &e); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return e
}

func expected(t *testing.T, recorded map[string]any) cluster.Event {
	t.Helper()
	at := func(path string) any {
		var v any = recorded
		for key := range strings.SplitSeq(path, ".") {
			object, _ := v.(map[string]any)
			v = object[key]
		}
		return v
	}
	str := func(path string) string { s, _ := at(path).(string); return s }
	num := func(path string) float64 { n, _ := at(path).(json.Number); f, _ := n.Float64(); return f }
	switch recorded["type"] {
	case "HEARTBEAT":
		return cluster.Heartbeat{}
	case "SUBSCRIBED":
		return cluster.Subscribed{
			FrameworkID: str("subscribed.framework_id.value"), MasterID: str("subscribed.master_info.id"),
			Heartbeat: time.Duration(num("subscribed.heartbeat_interval_seconds")) * time.Second,
		}
	case "RESCIND":
		return cluster.Rescind{OfferID: str("rescind.offer_id.value")}
	case "FAILURE":
		return cluster.Failure{
			AgentID: str("failure.agent_id.value"), ExecutorID: str("failure.executor_id.value"),
			Status: int(num("failure.status")),
		}
	case "ERROR":
		return cluster.FrameworkError{Message: str("error.message")}
	case "OFFERS":
		var out cluster.Offers
		for _, o := range at("offers.offers").([]any) {
			recorded = o.(map[string]any)
			offer := cluster.Offer{
				ID: str("id.value"), AgentID: str("agent_id.value"), Hostname: str("hostname"),
				AgentURL: "http://127.0.0.1:5051",
			}
			for _, r := range at("resources").([]any) {
				recorded = r.(map[string]any)
				switch str("name") {
				case "cpus":
					offer.Resources.CPUMilli = int64(num("scalar.value") * 1000)
				case "mem":
					offer.Resources.MemMilli = int64(num("scalar.value") * 1000)
				}
			}
			out.Offers = append(out.Offers, offer)
		}
		return out
	case "UPDATE":
		out := cluster.Update{
			TaskID: str("update.status.task_id.value"), AgentID: str("update.status.agent_id.value"),
			ExecutorID: str("update.status.executor_id.value"), Message: str("update.status.message"),
			Reason:    cluster.Reason(strings.TrimPrefix(str("update.status.reason"), "REASON_")),
			State:     cluster.State(strings.TrimPrefix(str("update.status.state"), "TASK_")),
			Source:    cluster.Source(strings.TrimPrefix(str("update.status.source"), "SOURCE_")),
			Timestamp: time.UnixMicro(int64(num("update.status.timestamp")*1e6 + 0.5)).UTC(),
		}
		if text := str("update.status.uuid"); text != "" {
			uuid, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			out.UUID = uuid
		}
		if n, ok := at("update.status.unreachable_time.nanoseconds").(json.Number); ok {
			ns, _ := n.Int64()
			out.UnreachableSince = time.Unix(0, ns).UTC()
		}
		return out
	}
	t.Fatalf("unexpected event %v", recorded)
	return nil
}

// Unknown values of a newer Mesos pass through as text. Revocable and shared resources are not counted, and reserved
// ones are counted separately.
func TestEventsBeyondTheRecordings(t *testing.T) {
	t.Parallel()
	refined := scalar("cpus", 16)
	refined.Reservations = []mesosapi.Resource_ReservationInfo{{Role: ptr("other")}}
	reserved := func(r mesosapi.Resource, as *mesosapi.Resource_ReservationInfo) mesosapi.Resource {
		r.Role, r.Reservation = ptr("batch"), as
		return r
	}
	labelled := &mesosapi.Resource_ReservationInfo{Principal: ptr("ops"),
		Labels: &mesosapi.Labels{Labels: []mesosapi.Label{{Key: "k", Value: ptr("one")}, {Key: "bare"}}}}
	revocable := scalar("mem", 128)
	revocable.Revocable = &mesosapi.Resource_RevocableInfo{}
	shared := scalar("mem", 256)
	shared.Shared = &mesosapi.Resource_SharedInfo{}
	star := scalar("mem", 0.0014)
	star.Role = ptr("*")
	start := time.Date(2026, 12, 24, 18, 0, 0, 0, time.UTC)
	message := func(data string) scheduler.Event {
		return scheduler.Event{Type: scheduler.Event_MESSAGE, Message: &scheduler.Event_Message{
			AgentID: mesosapi.AgentID{Value: "S0"}, ExecutorID: mesosapi.ExecutorID{Value: "e1"}, Data: []byte(data),
		}}
	}

	tests := map[string]struct {
		event scheduler.Event
		want  cluster.Event
	}{
		"offer": {
			scheduler.Event{Type: scheduler.Event_OFFERS, Offers: &scheduler.Event_Offers{Offers: []mesosapi.Offer{{
				ID: mesosapi.OfferID{Value: "o1"}, AgentID: mesosapi.AgentID{Value: "S0"}, Hostname: "agent",
				URL: &mesosapi.URL{Scheme: "https",
					Address: mesosapi.Address{IP: ptr("::1"), Hostname: ptr("agent.example"), Port: 5051}},
				Resources: []mesosapi.Resource{
					scalar("cpus", 0.1), scalar("cpus", 0.2), refined,
					reserved(scalar("cpus", 32), nil), reserved(scalar("mem", 0.5), nil),
					reserved(scalar("cpus", 0.001), nil), reserved(scalar("disk", 9), nil),
					reserved(scalar("cpus", 2), labelled), reserved(scalar("cpus", 1),
						&mesosapi.Resource_ReservationInfo{}), reserved(revocable, nil),
					revocable, shared, star, scalar("mem", 0.0016), scalar("gpus", 2),
				},
				ExecutorIDs:    []mesosapi.ExecutorID{{Value: "e1"}, {Value: "e2"}},
				Unavailability: &mesosapi.Unavailability{Start: mesosapi.TimeInfo{Nanoseconds: start.UnixNano()}},
			}, {URL: &mesosapi.URL{Scheme: "http",
				Address: mesosapi.Address{IP: ptr("::1"), Hostname: ptr("agent.example"), Port: 5051}}}, {}}}},
			cluster.Offers{Offers: []cluster.Offer{{
				ID: "o1", AgentID: "S0", Hostname: "agent", AgentURL: "https://agent.example:5051",
				Resources: resources.Amount{CPUMilli: 35_301, MemMilli: 503},
				Reserved: []cluster.Reserved{
					{Key: `{"role":"batch","dynamic":true,"principal":"ops","labels":[{"key":"k","value":"one"},{"key":"bare"}]}`, Resources: resources.Amount{CPUMilli: 2000}},
					{Key: `{"role":"batch","dynamic":true}`, Resources: resources.Amount{CPUMilli: 1000}},
					{Key: `{"role":"batch"}`, Resources: resources.Amount{CPUMilli: 32_001, MemMilli: 500}},
				},
				ExecutorIDs: []string{"e1", "e2"}, Unavailable: start,
			}, {AgentURL: "http://[::1]:5051"}, {}}},
		},
		"status of a later version": {
			scheduler.Event{Type: scheduler.Event_UPDATE, Update: &scheduler.Event_Update{Status: mesosapi.TaskStatus{
				TaskID: mesosapi.TaskID{Value: "t1"}, State: ptr(mesosapi.TaskState(77)),
				Source: ptr(mesosapi.TaskStatus_Source(78)), Reason: ptr(mesosapi.TaskStatus_Reason(79)),
				Data: []byte{1, 0xff},
			}}},
			cluster.Update{TaskID: "t1", State: "77", Source: "78", Reason: "79"},
		},
		"status with what our executor says": {
			scheduler.Event{Type: scheduler.Event_UPDATE, Update: &scheduler.Event_Update{Status: mesosapi.TaskStatus{
				TaskID: mesosapi.TaskID{Value: "t1"}, State: ptr(mesosapi.TASK_STARTING),
				Data: []byte(`{"v":1,"phase":"FETCH"}`),
			}}},
			cluster.Update{TaskID: "t1", State: cluster.Starting,
				Status: &wire.Status{Version: 1, Phase: wire.PhaseFetch}},
		},
		"bare status": {
			scheduler.Event{Type: scheduler.Event_UPDATE, Update: &scheduler.Event_Update{Status: mesosapi.TaskStatus{
				TaskID: mesosapi.TaskID{Value: "t1"}, State: ptr(mesosapi.TASK_STARTING),
			}}},
			cluster.Update{TaskID: "t1", State: cluster.Starting},
		},
		"executor's end": {
			scheduler.Event{Type: scheduler.Event_FAILURE, Failure: &scheduler.Event_Failure{
				AgentID: &mesosapi.AgentID{Value: "S0"}, ExecutorID: &mesosapi.ExecutorID{Value: "e1"},
				Status: ptr(int32(1280)),
			}},
			cluster.Failure{AgentID: "S0", ExecutorID: "e1", Status: 1280},
		},
		"our executor's message": {message(`{"v":1,"tasks":[{"taskId":"t1"}]}`),
			cluster.Message{AgentID: "S0", ExecutorID: "e1",
				Report: &wire.Report{Version: 1, Tasks: []wire.TaskReport{{TaskID: "t1"}}}}},
		"request for leases": {message(string(lease.Message{Holder: "e1", Body: []byte("b"), Signature: "s"}.Pack())),
			cluster.Message{AgentID: "S0", ExecutorID: "e1",
				Lease: &lease.Message{Holder: "e1", Body: []byte("b"), Signature: "s"}}},
		"heartbeat": {message(string(wire.EncodeHeartbeat())),
			cluster.Message{AgentID: "S0", ExecutorID: "e1", Heartbeat: true}},
		"message that is no JSON":   {message("\x00\xff"), cluster.Message{AgentID: "S0", ExecutorID: "e1"}},
		"message that is no report": {message(`{"v":1,"tasks":{}}`), cluster.Message{AgentID: "S0", ExecutorID: "e1"}},
		"message with no number":    {message(`{"v":1,"tasks":[{"progress":{"fraction":1e999}}]}`), cluster.Message{AgentID: "S0", ExecutorID: "e1"}},
		"message that is too long":  {message(strings.Repeat(" ", 1<<20) + `{"v":1}`), cluster.Message{AgentID: "S0", ExecutorID: "e1"}},
		"after an event of an unknown type": {
			scheduler.Event{Type: 99}, // the following heartbeat is delivered instead
			cluster.Heartbeat{},
		},
		"after an event without content": {scheduler.Event{Type: scheduler.Event_OFFERS}, cluster.Heartbeat{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMaster(t)
			s := subscribe(t, mesos.Options{Masters: []string{m.url}})
			m.send(tt.event, heartbeat())
			if diff := cmp.Diff(tt.want, next(t, s)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The states of PARTITION_AWARE and of older frameworks, as masters and agents send them.
func TestStatesOfLostTasks(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 11, 21, 9, 8, 7, 123456789, time.UTC)
	m := newMaster(t)
	s := subscribe(t, mesos.Options{Masters: []string{m.url}})
	for _, tt := range []struct {
		state    mesosapi.TaskState
		want     cluster.State
		terminal bool
	}{
		{mesosapi.TASK_UNREACHABLE, cluster.Unreachable, false},
		{mesosapi.TASK_GONE, cluster.Gone, true},
		{mesosapi.TASK_GONE_BY_OPERATOR, cluster.GoneByOperator, true},
		{mesosapi.TASK_DROPPED, cluster.Dropped, true},
		{mesosapi.TASK_UNKNOWN, cluster.Unknown, false},
		{mesosapi.TASK_LOST, cluster.Lost, true},
	} {
		status := mesosapi.TaskStatus{
			TaskID: mesosapi.TaskID{Value: "t1"}, State: ptr(tt.state),
			Source: ptr(mesosapi.SOURCE_MASTER), Reason: ptr(mesosapi.REASON_AGENT_REMOVED),
		}
		want := cluster.Update{TaskID: "t1", State: tt.want, Source: cluster.FromMaster,
			Reason: cluster.ReasonAgentRemoved}
		if tt.state == mesosapi.TASK_UNREACHABLE ||
			tt.state == mesosapi.TASK_LOST { // with the time since when, in nanoseconds
			status.UnreachableTime = &mesosapi.TimeInfo{Nanoseconds: since.UnixNano()}
			want.UnreachableSince = since
		}
		m.send(scheduler.Event{Type: scheduler.Event_UPDATE, Update: &scheduler.Event_Update{Status: status}})
		if diff := cmp.Diff(cluster.Event(want), next(t, s)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.state, diff)
		}
		if tt.want.Terminal() != tt.terminal {
			t.Errorf("%s: terminal %v", tt.want, !tt.terminal)
		}
	}
}

// Mesos reports two things in a message only: that it knows an executor with a different ExecutorInfo, and, up to 1.4,
// that a registered agent does not have a task. The state is then UNKNOWN, where later versions send GONE.
func TestMessagesThatMeanMore(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	s := subscribe(t, mesos.Options{Masters: []string{m.url}})
	for _, tt := range []struct {
		state    mesosapi.TaskState
		message  string
		want     cluster.State
		mismatch bool
	}{
		{mesosapi.TASK_ERROR, "ExecutorInfo is not compatible with existing ExecutorInfo with same ExecutorID.\n------\nExisting ExecutorInfo:\n…", cluster.Error, true},
		{mesosapi.TASK_ERROR, "Task has invalid ExecutorInfo (existing ExecutorInfo with same ExecutorID is not compatible).", cluster.Error, true},
		{mesosapi.TASK_ERROR, "Task has duplicate ID", cluster.Error, false},
		{mesosapi.TASK_UNKNOWN, "Reconciliation: Task is unknown to the agent", cluster.Gone, false},
		{mesosapi.TASK_UNKNOWN, "Reconciliation: Task is unknown", cluster.Unknown, false},
	} {
		m.send(scheduler.Event{Type: scheduler.Event_UPDATE,
			Update: &scheduler.Event_Update{Status: mesosapi.TaskStatus{
				TaskID: mesosapi.TaskID{Value: "t1"}, State: ptr(tt.state), Source: ptr(mesosapi.SOURCE_MASTER),
				Message: &tt.message,
			}}})
		want := cluster.Update{TaskID: "t1", State: tt.want, Source: cluster.FromMaster, Message: tt.message,
			ExecutorMismatch: tt.mismatch}
		if diff := cmp.Diff(cluster.Event(want), next(t, s)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.message, diff)
		}
	}
}
