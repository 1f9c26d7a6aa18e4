package core

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// TestClusterKind checks that a state is loaded only on the kind of cluster where it was made. An empty registry is
// loaded on any kind.
func TestClusterKind(t *testing.T) {
	t.Parallel()
	framework := registry.Entry{Path: store.PathFramework, Value: []byte("elasticjob-1")}
	kubernetes := registry.Entry{Path: store.PathClusterKind, Value: []byte("Kubernetes")}
	for _, c := range []struct {
		name    string
		kind    string // of the cluster; "" for Mesos
		stored  []registry.Entry
		refused string // part of the error; "" if there is none
	}{
		{name: "nothing is stored", kind: "Kubernetes"},
		{name: "of Mesos on Mesos", stored: []registry.Entry{framework}},
		{name: "of Kubernetes on Kubernetes", kind: "Kubernetes", stored: []registry.Entry{framework, kubernetes}},
		{name: "of Mesos on Kubernetes", kind: "Kubernetes", stored: []registry.Entry{framework}, refused: "on Kubernetes: its state was made on Mesos or --local"},
		{name: "of Kubernetes on Mesos", stored: []registry.Entry{framework, kubernetes}, refused: "on Mesos or --local: its state was made on Kubernetes"},
		{name: "of Kubernetes without its framework id, on Mesos", stored: []registry.Entry{kubernetes}, refused: "was made on Kubernetes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			opt := s.opt
			opt.ClusterKind = c.kind
			err := New(opt).Load(s.now, Stored{Entries: c.stored})
			if (err != nil) != (c.refused != "") ||
				err != nil && (!strings.Contains(err.Error(), c.refused) || !errors.Is(err, registry.ErrUnusable)) {
				t.Errorf("got the error %v, want %q", err, c.refused)
			}
		})
	}
}

// TestClusterKindIsWrittenWithTheFrameworkID checks that one commit writes both, so that no state is without its kind.
func TestClusterKindIsWrittenWithTheFrameworkID(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"", "Kubernetes"} {
		s := newStage(t)
		opt := s.opt
		opt.ClusterKind = kind
		core := New(opt)
		core.shared.SetRandom(rand.NewPCG(1, 2))
		core.subscription.MakeID()
		var r store.Commit
		core.subscription.Write(&r)
		written := map[string]string{}
		for _, w := range r.Writes() {
			written[w.Path] = string(w.Value)
		}
		if got, found := written[store.PathClusterKind]; got != kind || found != (kind != "") ||
			written[store.PathFramework] == "" {
			t.Errorf("on the kind %q the commit writes %v", kind, written)
		}
	}
}
