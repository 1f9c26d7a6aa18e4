package config

import (
	"fmt"
	"maps"
)

// Contradiction describes an invariant of Set that does not hold, "" if all hold. Tests call it after each step.
func (k *Set) Contradiction() string {
	sizes := documentSizes{byApp: map[string]int64{}}
	for name, a := range k.apps {
		sizes.add(name, a.bytes)
		for job, j := range a.jobs {
			if k.jobs[job] != j || j.cfg == nil || j.cfg.AppName != name {
				return fmt.Sprintf("app %s has job %s, which is not one of its own", name, job)
			}
		}
	}
	for name, j := range k.jobs {
		if j.name != name {
			return fmt.Sprintf("job %s is kept as %s", j.name, name)
		}
		if j.cfg == nil {
			continue
		}
		sizes.add(j.cfg.AppName, j.bytes)
		if a := k.apps[j.cfg.AppName]; a != nil && a.jobs[name] != j {
			return fmt.Sprintf("app %s lacks its job %s", a.name, name)
		}
	}
	if sizes.total != k.sizes.total || !maps.Equal(sizes.byApp, k.sizes.byApp) {
		return fmt.Sprintf("documents have %+v, counted %+v", sizes, k.sizes)
	}
	counted, shards := map[scheduleKey]int{}, map[scheduleKey]int{}
	for _, j := range k.jobs {
		if fires := j.schedule != nil && !k.IsFaulty(j) && k.Inactive(j) == Active; fires != (j.counted != nil) {
			return fmt.Sprintf("job %s fires: %v, and is counted: %v", j.name, fires, j.counted != nil)
		} else if fires {
			key := scheduleKey{j.cfg.Cron, j.cfg.TimeZone}
			counted[key]++
			shards[key] += j.cfg.ShardingTotalCount
		}
	}
	if len(counted) != len(k.schedules.views) || len(counted) != len(k.schedules.groups) ||
		len(counted) != len(k.schedules.byKey) {
		return fmt.Sprintf("%d schedules, counted %d", len(counted), len(k.schedules.views))
	}
	for key, n := range counted {
		g := k.schedules.byKey[key]
		if g == nil || k.schedules.groups[g.index] != g || k.schedules.views[g.index].Jobs != n ||
			k.schedules.views[g.index].Shards != shards[key] {
			return fmt.Sprintf("schedule %v has %d jobs with %d shards and is counted otherwise", key, n, shards[key])
		}
	}
	return ""
}
