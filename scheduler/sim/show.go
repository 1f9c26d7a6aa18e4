package sim

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// shown formats a call or events for traces. It does so only if a trace is kept.
type shown struct{ what any }

func (s shown) String() string {
	switch v := s.what.(type) {
	case step.CallLaunch:
		var tasks []string
		for _, t := range v.Launch.Tasks {
			tasks = append(tasks, t.TaskID+" on "+t.Executor.ID)
		}
		return fmt.Sprintf("ACCEPT %d on %s, %v: %s", v.Seq, v.Launch.AgentID, v.Launch.OfferIDs,
			strings.Join(tasks, ", "))
	case step.CallAcknowledge:
		return fmt.Sprintf("ACKNOWLEDGE %s of %s", v.Ack.UUID, v.Ack.TaskID)
	case cluster.Update:
		return fmt.Sprintf("UPDATE %s %s from %s %s %q uuid %s", v.TaskID, v.State, v.Source, v.Reason, v.Message,
			v.UUID)
	case []core.Event:
		var all []string
		for _, e := range v {
			all = append(all, shown{e}.String())
		}
		return strings.Join(all, " | ")
	case core.ClusterEvent:
		return shown{v.Event}.String()
	case config.AppChanged, config.JobChanged: // JSON shows their documents as users write them
		data, err := json.Marshal(v)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%T %s", v, data)
	}
	return fmt.Sprintf("%T %+v", s.what, s.what)
}
