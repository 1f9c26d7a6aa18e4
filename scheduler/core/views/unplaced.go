package views

import (
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executors"
)

// Unplaced returns the shards for which no agent has room or is suitable, at most limit, in the order of launches. It
// leaves out shards that wait for anything else, such as a time, a user, or the end of an earlier attempt, because
// more agents would not help them.
func (vs *Views) Unplaced(limit int) []cluster.Unplaced {
	if !vs.noLaunches().IsZero() {
		return nil
	}
	var out []cluster.Unplaced
	add := func(e *executions.Execution, j *jobs.Config, a *app.Config, item int) {
		if len(out) < limit {
			out = append(out, cluster.Unplaced{Execution: e.ID(), Job: e.Job(), Item: item,
				Resources: j.Resources(), CPULimitMilli: j.CPULimitMilli(), Container: executors.Container(a),
				Why: vs.unplacedReason(e).String()})
		}
	}
	for _, e := range vs.st.Executions.Launchable() {
		if len(out) == limit {
			break
		}
		// Without a result of a match there may be room for it on the offers at hand.
		notMatched := e.Unplaced().Why.IsZero() && vs.placement.Held().Len() > 0
		packageWaits := vs.st.StartFailures.Wait(vs.st.AppOf(e), e.ID()).MustWait()
		if notMatched || !e.Kill().IsZero() || vs.st.HeldBack(e) || packageWaits {
			continue
		}
		if e.Launched() {
			for _, item := range vs.placement.ItemsWaiting(e) {
				add(e, &e.Settings().Job, &e.Settings().App, item)
			}
		} else if j := vs.st.Config.Job(e.Job()); vs.st.CanLaunch(j) {
			cfg := e.SettingsOf(*j.Config())
			for item := range cfg.ShardingTotalCount {
				add(e, &cfg, vs.st.Config.App(cfg.AppName).Config(), item)
			}
		}
	}
	return out
}
