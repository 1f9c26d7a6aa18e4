package placement

import (
	"maps"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executors"
)

// unfit are the agents that the cluster's own rules keep apps from (Options.Unfit). What was found out holds until the attributes of
// any agent change, which operators do, not load.
type unfit struct {
	// version is that of the attributes that byKey was found with; byKey has, by executorKey, the reasons by agent, nil for none.
	version int64
	byKey   map[string]map[string]reason.Reason
}

// unfitFor are the agents with attributes where an app may not be placed, and why; nil for none. key is the app's executorKey.
func (pl *Placement) unfitFor(a *app.Config, key string) map[string]reason.Reason {
	if pl.Opt.Unfit == nil {
		return nil
	}
	u := &pl.unfit
	if u.byKey == nil || u.version != pl.Agents.Attributes() {
		u.version, u.byKey = pl.Agents.Attributes(), map[string]map[string]reason.Reason{}
	}
	found, known := u.byKey[key]
	if known {
		return found
	}
	unfit := pl.Opt.Unfit(executors.Container(a))
	for id, on := range pl.Agents.All() {
		if on.Attributes() == nil {
			continue
		}
		if why := unfit(on.Attributes()); why != "" {
			if found == nil {
				found = map[string]reason.Reason{}
			}
			found[id] = reason.ClusterRule(why)
		}
	}
	u.byKey[key] = found
	return found
}

// avoid is where an app is not to be placed, and why: where the cluster's rules or its own start failures keep it away, and where
// maintenance begins soon: those are maintained. The map is not to be changed.
func (pl *Placement) avoid(a *app.Config, key string, maintained map[string]reason.Reason) map[string]reason.Reason {
	avoided, kept := pl.Starts.Avoid(a.AppName, maintained), pl.unfitFor(a, key)
	switch {
	case len(kept) == 0:
		return avoided
	case len(avoided) == 0:
		return kept
	}
	all := maps.Clone(avoided)
	maps.Copy(all, kept)
	return all
}
