package zookeeper

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/registry"
)

// TestExchange checks that entries and shared values survive the conversion into nodes of a backup and back.
func TestExchange(t *testing.T) {
	t.Parallel()
	entries := []registry.Entry{
		{Path: "/config/job/a", Value: []byte("document")}, {Path: "/ha/framework_id", Value: []byte("f")},
		{Path: "/scheduler/a~b/c", Value: []byte("state")}, {Path: "/state/running/job/job@-@0", Value: []byte("t")},
	}
	shared := []registry.Entry{{Path: "access", Value: []byte("keys")}}
	nodes := Nodes(7, entries, shared)
	seen := map[string]bool{"": true}
	for _, n := range nodes {
		if !seen[folderOf(n.Path)] {
			t.Errorf("%s comes before the node above it", n.Path)
		}
		seen[n.Path] = true
	}
	term, gotEntries, gotShared, err := Entries(nodes, "/ha/framework_id")
	if err != nil || term != 7 {
		t.Errorf("term %d, %v", term, err)
	}
	byPath := map[string]string{}
	for _, e := range gotEntries {
		byPath[e.Path] = string(e.Value)
	}
	want := map[string]string{"/config/job/a": "document", "/scheduler/a~b/c": "state",
		"/state/running/job/job@-@0": "t"}
	if diff := cmp.Diff(want, byPath); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(shared, gotShared); diff != "" {
		t.Error(diff)
	}
	if _, _, _, err := Entries(nil); err == nil {
		t.Error("an empty backup is accepted")
	}
}
