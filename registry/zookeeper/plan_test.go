package zookeeper

import (
	"testing"

	"github.com/elasticjob-go/elasticjob/registry"
)

// A namespace that somebody deletes under a leader has not even a root. The plan still
// ends, and ZooKeeper refuses it.
func TestPlanWithoutARoot(t *testing.T) {
	t.Parallel()
	p := &planner{place: &place{root: "/n"}, tidy: true, after: map[string]node{}, look: func(string) node { return node{kind: absent} }}
	p.writes([]registry.Write{{Path: "/brain/job/a"}, {Path: "/mark"}})
	if p.conflict != "" || len(p.ops) != 4 {
		t.Errorf("%q, %d operations", p.conflict, len(p.ops))
	}
}
