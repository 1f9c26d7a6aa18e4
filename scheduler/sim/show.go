package sim

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

func showCall(c core.Call) string {
	switch c := c.(type) {
	case core.CallLaunch:
		var tasks []string
		for _, t := range c.Launch.Tasks {
			tasks = append(tasks, t.TaskID+" on "+t.Executor.ID)
		}
		return fmt.Sprintf("ACCEPT %d on %s, %v: %s", c.Seq, c.Launch.AgentID, c.Launch.OfferIDs, strings.Join(tasks, ", "))
	case core.CallKill:
		return "KILL " + c.Kill.TaskID
	case core.CallAcknowledge:
		return fmt.Sprintf("ACKNOWLEDGE %s of %s", c.Ack.UUID, c.Ack.TaskID)
	case core.CallReconcile:
		if len(c.Tasks) == 0 {
			return "RECONCILE everything"
		}
		var tasks []string
		for _, t := range c.Tasks {
			tasks = append(tasks, t.TaskID)
		}
		return "RECONCILE " + strings.Join(tasks, ", ")
	}
	return fmt.Sprintf("%T %+v", c, c)[len("scheduler."):]
}

func showEvent(e cluster.Event) string {
	switch e := e.(type) {
	case cluster.Update:
		return fmt.Sprintf("UPDATE %s %s from %s %s %q uuid %s", e.TaskID, e.State, e.Source, e.Reason, e.Message, e.UUID)
	case cluster.Offers:
		var all []string
		for _, o := range e.Offers {
			all = append(all, fmt.Sprintf("%s %s %+v %v", o.ID, o.AgentID, o.Resources, o.ExecutorIDs))
		}
		return "OFFERS " + strings.Join(all, "; ")
	}
	return fmt.Sprintf("%T %+v", e, e)[len("cluster."):]
}

func showEvents(events []core.Event) string {
	var all []string
	for _, e := range events {
		switch e := e.(type) {
		case core.ClusterEvent:
			all = append(all, showEvent(e.Event))
		case core.AppChanged:
			all = append(all, fmt.Sprintf("AppChanged %s version %d disabled %v: %s", e.Name, e.Version, e.Disabled, showDocument(e.Config)))
		case core.JobChanged:
			all = append(all, fmt.Sprintf("JobChanged %s version %d disabled %v: %s", e.Name, e.Version, e.Disabled, showDocument(e.Config)))
		default:
			all = append(all, fmt.Sprintf("%T %+v", e, e)[len("scheduler."):])
		}
	}
	return strings.Join(all, " | ")
}

// showDocument is an app's or a job's document, as people write it.
func showDocument[T any](cfg *T) string {
	if cfg == nil {
		return "deleted"
	}
	data, err := json.Marshal(cfg)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
