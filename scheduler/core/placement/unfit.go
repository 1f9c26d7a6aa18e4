package placement

import (
	"maps"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executors"
)

// unfit has the agents that the cluster's own rules keep apps off (Options.Unfit). What was found holds until the
// attributes of any agent change, which operators cause, not load.
type unfit struct {
	// version is that of the attributes with which byKey was found; byKey has, by the key of the app's executor,
	// the reasons by agent, nil for none.
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
	found, known := u.byKey[key]
	if known {
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

// avoid returns where an app must not be placed, with the reasons: where the cluster's rules or its own start
// failures keep it away, and the agents of maintained, where maintenance begins soon. The map must not be changed.
func (pl *Placement) avoid(a *app.Config, key string, maintained map[string]reason.Reason) map[string]reason.Reason {
	avoided, kept := pl.st.Starts.Avoid(a.AppName, maintained), pl.unfitFor(a, key)
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
