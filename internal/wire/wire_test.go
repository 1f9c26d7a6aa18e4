package wire_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/internal/lease"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTaskRoundTrip(t *testing.T) {
	t.Parallel()
	want := wire.Task{
		Version: 1, TaskID: "my_job@-@2@-@READY@-@S0@-@u", ExecutionID: "e", JobName: "my_job", Item: 2, Total: 3,
		JobParameter: "a", ShardingParameter: "b", Source: "TRIGGER", FireTime: time.Date(2026, 7, 1, 12, 0, 0, 5e6,
			time.UTC), Attempt: 1, FencingToken: 1_790_000_000_001,
		Package: wire.Package{URL: "http://h/x", Cache: true},
		Command: []string{"sh", "-c", "a | b", ""}, Env: map[string]string{"X": "1"}, KillGraceMillis: 5000,
	}
	data, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := wire.DecodeTask(data)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	// An executor that does not know references must not run the task without them.
	want.Version, want.EnvFiles = 2, map[string]string{"DB_PASSWORD": "/s/db"}
	if data, err = want.Encode(); err != nil {
		t.Fatal(err)
	}
	got, err = wire.DecodeTask(data)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	// Nor may it send a request without the headers or the proxy.
	for _, request := range []wire.HTTP{{Headers: map[string]wire.Header{"A": {File: "/s/a"}}},
		{Proxy: "http://proxy"}} {
		want.Version, want.HTTP = 3, &request
		data, err = want.Encode()
		got, err2 := wire.DecodeTask(data)
		if diff := cmp.Diff(want, got); err != nil || err2 != nil || diff != "" {
			t.Error(err, err2, diff)
		}
	}
}

// A task encoded in two parts, of which many tasks share the second, equals the task encoded as a whole. Each present
// and future field belongs to one of the parts.
func TestTaskInTwoParts(t *testing.T) {
	t.Parallel()
	full := wire.Task{HTTP: &wire.HTTP{}, Daemon: &wire.Daemon{}, Lease: &lease.Grant{}}
	fill(reflect.ValueOf(&full).Elem())
	full.Version = wire.Version
	for name, want := range map[string]wire.Task{"full": full, "empty": {Version: 1, ExecutionID: "e"}} {
		shared, err := want.EncodeShared()
		parts, err2 := want.EncodeWith(shared)
		got, err3 := wire.DecodeTask(parts)
		if diff := cmp.Diff(want, got); diff != "" || errors.Join(err, err2, err3) != nil {
			t.Errorf("%s: %v %v %v %s", name, err, err2, err3, diff)
		}
		whole, _ := want.Encode()
		if same, _ := want.EncodeWith(nil); len(whole) != len(parts) || !bytes.Equal(same, whole) {
			t.Errorf("%s: %s\n%s\n%s", name, whole, parts, same)
		}
		other := want
		other.TaskID, other.Item, other.ShardingParameter, other.Source, other.Attempt, other.Daemon = "o", 9, "p",
			"s", 7, nil
		other.FencingToken, other.Lease = 8, &lease.Grant{Seconds: 10}
		if same, _ := other.EncodeShared(); !bytes.Equal(same, shared) {
			t.Errorf("%s: another shard's differs: %s, %s", name, same, shared)
		}
	}
}

// fill sets every field to a value that is not zero.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		fill(v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 7, 1, 12, 0, 0, 5e6, time.UTC)))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.String:
		v.SetString("<x>")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.ValueOf([]string{"a b"}))
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("k"), value)
	case reflect.Float64:
		v.SetFloat(1.5)
	default:
		v.SetInt(3)
	}
}

func TestStatusRoundTrip(t *testing.T) {
	t.Parallel()
	exit := 3
	want := wire.Status{Version: 1, Dir: "tasks/7", Phase: wire.PhaseRun, ExitStatus: &exit, Cause: "no such file"}
	data, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := wire.DecodeStatus(data); !ok || cmp.Diff(want, got) != "" {
		t.Errorf("got %+v, %t", got, ok)
	}
}

// Executors and schedulers of different releases work together, or report why not.
func TestVersions(t *testing.T) {
	t.Parallel()
	if _, err := wire.DecodeTask([]byte(`{"v":1,"taskId":"t","later":{"a":1}}`)); err != nil {
		t.Errorf("a field of a later version: %v", err)
	}
	for data, want := range map[string]string{`{"v":99}`: "update the executor", `{}`: "version 0",
		`x`: "read task description"} {
		if _, err := wire.DecodeTask([]byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", data, err, want)
		}
	}
	for _, data := range []string{"", "x", "{}", `{"v":"1"}`} {
		if got, ok := wire.DecodeStatus([]byte(data)); ok {
			t.Errorf("%q: got %+v", data, got)
		}
	}
}

func TestLastWords(t *testing.T) {
	t.Parallel()
	for cause, want := range map[string]string{
		"":                                      "",
		"killed":                                "",
		"killed; end of stderr:\nkilled;":       "end of stderr:\nkilled;",
		"killed: its request was cut off":       "its request was cut off", // of an earlier release
		"the executor ended; end of stderr:\nx": "the executor ended; end of stderr:\nx",
	} {
		if got := (wire.Status{Cause: cause}).LastWords(); got != want {
			t.Errorf("%q: got %q, want %q", cause, got, want)
		}
	}
}
