package attempts

import (
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
)

// DeclareDead ends everything on a machine at once, because an operator states that the machine is gone for good (rule
// M2): the attempts of its live tasks are lost and leave no orphan, and its orphans are forgotten. It returns the
// numbers of both. The executors there get no more tasks, and are shut down if they are ever seen again.
func (as *Attempts) DeclareDead(machine string, why reason.Reason) (lost, forgotten int) {
	var refs []executions.TaskRef
	for _, id := range as.st.Agents.OnHost(machine) {
		for _, x := range slices.Clone(as.st.Executors.On(id)) {
			as.st.Executors.Close(x)
		}
		for ref := range as.st.Executions.On(id) {
			if ref.Shard().Live() {
				refs = append(refs, ref)
			}
		}
	}
	slices.SortFunc(refs, func(a, b executions.TaskRef) int {
		return strings.Compare(a.Shard().TaskID(), b.Shard().TaskID())
	})
	for _, ref := range refs {
		s := ref.Shard()
		task, agent, grace := s.TaskID(), s.Agent(), as.st.Executions.TaskGrace(ref)
		if as.st.Opt.TaskExecutors && s.AcceptSeq() == 0 {
			// The cluster keeps the kill, so that the task does not start again if the machine comes back.
			as.st.Kill(task, agent, grace, "its machine was declared dead")
		}
		as.st.Executions.SetCause(ref, why)
		as.recording.TraceDecided(ref, cluster.GoneByOperator, why)
		as.endAttempt(ref, outcomeLost, 0)
	}
	for _, o := range as.st.Orphans.All() {
		if o.Host == machine || o.Agent == machine || slices.Contains(as.st.Agents.OnHost(machine), o.Agent) {
			as.st.Orphans.Remove(o.TaskID)
			forgotten++
		}
	}
	return len(refs), forgotten
}
