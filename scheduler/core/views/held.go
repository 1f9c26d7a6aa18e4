package views

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
)

// Held says why this server launches nothing, what to do, and which jobs give their shards most, those that wait first;
// it is empty where nothing is held (Options.Held). It never changes after Load. It is for those who may see all jobs:
// what a job's reason says of it names no other.
func (vs *Views) Held() string {
	if vs.st.Opt.Held == "" {
		return ""
	}
	return reason.LaunchesHeld(vs.st.Opt.Held).String() + "; " + vs.heldJobs
}

// heldNames is how many jobs Held names.
const heldNames = 3

// givenMost is a job, and what a run of it gives its shards.
type givenMost struct {
	job         string
	shards      int
	each, total int
	waits       bool
}

// holdLaunches holds launches, if that is asked for, and says what may have made that necessary.
func (vs *Views) HoldLaunches() {
	if vs.st.Opt.Held == "" {
		return
	}
	var all []givenMost
	for name, j := range vs.st.Config.AllJobs() {
		if vs.st.Config.Inactive(j) != config.Active {
			continue
		}
		cfg, waits := *j.Config(), false
		for _, e := range vs.st.Executions.Queue(j.Name()) {
			if !e.Launched() && !waits {
				cfg = e.SettingsOf(cfg)
			}
			waits = waits || !e.Launched() || e.Waiting() > 0
		}
		each, total := cfg.RunBytes()
		all = append(all, givenMost{name, cfg.ShardingTotalCount, each, total, waits})
	}
	slices.SortFunc(all, func(a, b givenMost) int {
		if a.waits != b.waits {
			if a.waits {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.total, a.total), cmp.Compare(a.job, b.job))
	})
	var names []string
	for _, one := range all[:min(len(all), heldNames)] {
		text := fmt.Sprintf("%s (%d shards, %s each, %s together",
			one.job, one.shards, jobs.Bytes(one.each), jobs.Bytes(one.total))
		if one.waits {
			text += ", and a run of it waits"
		}
		names = append(names, text+")")
	}
	vs.heldJobs = "no job is enabled"
	if len(names) > 0 {
		vs.heldJobs = "the jobs whose shards are given most: " + strings.Join(names, ", ")
	}
}
