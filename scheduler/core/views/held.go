package views

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
)

// Held explains why this server launches nothing and what to do, and names the jobs whose shards get the most, those
// that wait first; it is "" unless launches are held (Options.Held). It does not change after PrepareHeld. It is for
// users who may see all jobs; the reason that a single job shows names no other.
func (vs *Views) Held() string {
	if vs.st.Opt.Held == "" {
		return ""
	}
	return reason.LaunchesHeld(vs.st.Opt.Held).String() + "; " + vs.heldJobs
}

// maxHeldNames is how many jobs Held names.
const maxHeldNames = 3

// jobSize is a job with the amount that its shards get in a run.
type jobSize struct {
	job         string
	shards      int
	each, total int
	waits       bool
}

// PrepareHeld prepares the text of Held if launches are held: it finds the jobs that may be the reason. It is
// called once, when the term has loaded its state, before there are readers.
func (vs *Views) PrepareHeld() {
	if vs.st.Opt.Held == "" {
		return
	}
	var all []jobSize
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
		all = append(all, jobSize{name, cfg.ShardingTotalCount, each, total, waits})
	}
	slices.SortFunc(all, func(a, b jobSize) int {
		if a.waits != b.waits {
			if a.waits {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.total, a.total), cmp.Compare(a.job, b.job))
	})
	var names []string
	for _, one := range all[:min(len(all), maxHeldNames)] {
		text := fmt.Sprintf("%s (%d shards, %s each, %s together",
			one.job, one.shards, jobs.Bytes(one.each), jobs.Bytes(one.total))
		if one.waits {
			text += ", with a waiting run"
		}
		names = append(names, text+")")
	}
	vs.heldJobs = "no job is enabled"
	if len(names) > 0 {
		vs.heldJobs = "the jobs with the largest settings: " + strings.Join(names, ", ")
	}
}
