package core

import (
	"fmt"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// TestStateVersion checks that the first commit gives an older state the present version. A newer state must be
// refused, with an error that names both versions.
func TestStateVersion(t *testing.T) {
	t.Parallel()
	present := fmt.Sprintf(`{"version":%d,"release":"v1.1.0"}`, StateVersion)
	entry := func(value string) []registry.Entry {
		return []registry.Entry{{Path: store.PathFramework, Value: []byte("elasticjob-1")},
			{Path: store.PathStateVersion, Value: []byte(value)}}
	}
	for _, c := range []struct {
		name    string
		stored  []registry.Entry
		written string   // by the first commit; "" for nothing
		refused []string // parts of the error; nil if there is none
	}{
		{name: "nothing is stored", written: present},
		{name: "of a release without versions", stored: []registry.Entry{{Path: store.PathFramework, Value: []byte("elasticjob-1")}}, written: present},
		{name: "of this version, of another release", stored: entry(fmt.Sprintf(`{"version":%d,"release":"v1.0.0"}`, StateVersion))},
		{name: "of this version, with unknown fields", stored: entry(fmt.Sprintf(`{"version":%d,"release":"v1.0.0","more":1}`, StateVersion))},
		{name: "newer", stored: entry(fmt.Sprintf(`{"version":%d,"release":"v2.0.0"}`, StateVersion+1)),
			refused: []string{
				fmt.Sprintf("has version %d", StateVersion+1), "release v2.0.0", "this release, v1.1.0,",
				fmt.Sprintf("up to %d", StateVersion), "start release v2.0.0 or a later one"}},
		{name: "no JSON", stored: entry("2"), refused: []string{store.PathStateVersion, "restore the registry"}},
		{name: "below 1", stored: entry(`{"version":0}`), refused: []string{store.PathStateVersion, "below 1"}},
		{name: "not readable", stored: []registry.Entry{{Path: store.PathStateVersion, Unreadable: "no permission"}}, refused: []string{store.PathStateVersion, "no permission"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			opt := s.opt
			opt.Release = "v1.1.0"
			core := New(opt)
			err := core.Load(s.now, Stored{Entries: c.stored})
			for _, part := range c.refused {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("the error %v does not say %q", err, part)
				}
			}
			if len(c.refused) > 0 {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second commit must write nothing
				var r store.Commit
				core.stateVersion.write(&r)
				written := ""
				for _, w := range r.Writes() {
					written += string(w.Value)
				}
				if written != c.written {
					t.Errorf("the commit writes %q, want %q", written, c.written)
				}
				c.written = ""
			}
		})
	}
}
