package elect

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mesos/mesos-go/api/v1/lib"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParseGroup(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"h1":                        "zk://h1:2181/mesos",
		"zk://h1:99,h2/mesos":       "zk://h1:99,h2:2181/mesos",
		"zk://127.0.0.1:2181/a/b/":  "zk://127.0.0.1:2181/a/b",
		"127.0.0.1:2181/":           "zk://127.0.0.1:2181/mesos",
		"":                          "",
		"zk://":                     "",
		"h1,,h2/mesos":              "",
		"h1:1:2/mesos":              "",
		"zk://user:word@h1:1/mesos": "",
	} {
		g, err := ParseGroup(text)
		if (err == nil) != (want != "") {
			t.Errorf("%q: error %v", text, err)
		}
		if err == nil && g.String() != want {
			t.Errorf("%q is %s, want %s", text, g, want)
		}
	}
}

// A ZooKeeper that is away is waited for, and no longer than who asks wants to.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	c, err := Connect(Group{Servers: []string{"127.0.0.1:1"}, Path: DefaultPath}, time.Second, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := c.Leader(ctx); err == nil || errors.Is(err, ErrNoLeader) {
		t.Errorf("error %v of a ZooKeeper that is away", err)
	}
	led := false
	err = c.Stand(ctx, &mesos.MasterInfo{Address: &mesos.Address{}}, func() error { led = true; return nil })
	if diff := cmp.Diff([]any{error(nil), false}, []any{err, led}); diff != "" {
		t.Error(diff)
	}
}
