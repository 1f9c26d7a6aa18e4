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

// Held explains why this server launches nothing and what to do; it is "" unless launches are held (Options.Held). It
// also names the jobs with the largest settings, beginning with those that wait, so it is only for users who may see
// all jobs. Held does not change after PrepareHeld.
func (vs *Views) Held() string {
	if vs.st.Opt.Held == "" {
		return ""
	}
	return reason.LaunchesHeld(vs.st.Opt.Held).String() + "; " + vs.heldJobs
}

// maxHeldNames is how many jobs Held names.
const maxHeldNames = 3

// jobSize has the size of the settings that the shards of a job get in a run, in bytes.
type jobSize struct {
	job             string
	shards          int
	perShard, total int
	waits           bool
}

// PrepareHeld prepares the text of Held if launches are held: it finds the jobs that are probably the reason. It is
// called once, when the term has loaded its state, before Views has readers.
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
		perShard, total := cfg.RunBytes()
		all = append(all, jobSize{name, cfg.ShardingTotalCount, perShard, total, waits})
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
	for _, size := range all[:min(len(all), maxHeldNames)] {
		text := fmt.Sprintf("%s (%d shards, %s each, %s together",
			size.job, size.shards, jobs.Bytes(size.perShard), jobs.Bytes(size.total))
		if size.waits {
			text += ", with a waiting run"
		}
		names = append(names, text+")")
	}
	vs.heldJobs = "no job is enabled"
	if len(names) > 0 {
		vs.heldJobs = "the jobs with the largest settings: " + strings.Join(names, ", ")
	}
}
