package placement

import (
	"maps"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executors"
)

// unfit caches the agents on which the cluster's own rules allow no task of an app (Options.Unfit). The cache is valid
// until the attributes of any agent change, which is rare, because only operators change them.
type unfit struct {
	// version is the version of the attributes for which byKey was computed. byKey has, by the key of the app's
	// executor, the reasons by agent; nil if the rules allow all agents.
	version int64
	byKey   map[string]map[string]reason.Reason
}

// unfitFor returns the agents with attributes on which an app may not be placed, with the reasons; nil for none.
// key is the key of the app's executor.
func (pl *Placement) unfitFor(a *app.Config, key string) map[string]reason.Reason {
	if pl.st.Opt.Unfit == nil {
		return nil
	}
	u := &pl.unfit
	if u.byKey == nil || u.version != pl.st.Agents.Attributes() {
		u.version, u.byKey = pl.st.Agents.Attributes(), map[string]map[string]reason.Reason{}
	}
	found, cached := u.byKey[key]
	if cached {
		return found
	}
	unfit := pl.st.Opt.Unfit(executors.Container(a))
	for id, on := range pl.st.Agents.All() {
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

// avoid returns the agents on which an app must not be placed, with the reasons: those that the cluster's rules or the
// app's start failures exclude, and those of excluded. The map must not be changed.
func (pl *Placement) avoid(a *app.Config, key string, excluded map[string]reason.Reason) map[string]reason.Reason {
	avoided, byRules := pl.st.StartFailures.Avoid(a.AppName, excluded), pl.unfitFor(a, key)
	switch {
	case len(byRules) == 0:
		return avoided
	case len(avoided) == 0:
		return byRules
	}
	all := maps.Clone(avoided)
	maps.Copy(all, byRules)
	return all
}
