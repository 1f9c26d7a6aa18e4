package master

import (
	"fmt"
	"strings"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
)

// maxID is the maximum length of an id, which is that of a file name, because ids become folder names.
const maxID = 255

// validateTask checks whether a task can be launched with the available resources. If not, fault says why in Mesos'
// wording. Otherwise fault is "", and need is the resources of the task, plus those of its executor if that does not
// run yet.
func (m *Master) validateTask(f *framework, a *agent, task *mesos.TaskInfo, available resources) (need resources,
	fault string) {
	id := task.TaskID.Value
	if fault = validateID(id); fault != "" {
		return need, fault
	}
	switch {
	case f.tasks[id] != nil:
		return need, "Task has duplicate ID: " + id
	case task.AgentID.Value != a.id:
		return need, fmt.Sprintf("Task uses invalid agent %s while agent %s is expected", task.AgentID.Value, a.id)
	case len(task.Resources) == 0:
		return need, "Task uses no resources"
	case task.Executor == nil || task.Command != nil:
		return need, "Task should have ExecutorInfo, and no CommandInfo: " +
			"agents of this cluster have no executor of their own"
	}
	taskNeed, fault := parse(task.Resources)
	if fault != "" {
		return need, fault
	}
	executorNeed, fault := f.validateExecutor(a, task.Executor)
	if need = taskNeed.plus(executorNeed); fault == "" && !available.contains(need) {
		fault = fmt.Sprintf("Total resources %s required by task and its executor is more than available %s", need,
			available)
	}
	return need, fault
}

// validateExecutor checks an executor and returns the resources that it needs: none if it already runs. fault is "" if
// the executor is valid.
func (f *framework) validateExecutor(a *agent, e *mesos.ExecutorInfo) (need resources, fault string) {
	if e.Type != mesos.ExecutorInfo_CUSTOM || e.Command == nil || e.GetFrameworkID().GetValue() != f.id {
		return need, "ExecutorInfo should have the type 'CUSTOM', a command, and the framework's own ID"
	}
	if fault = validateID(e.ExecutorID.Value); fault != "" {
		return need, fault
	}
	if need, fault = parse(e.Resources); fault != "" {
		return need, fault
	}
	if running := f.executors[a.id][e.ExecutorID.Value]; running != nil {
		if !running.Equal(e) {
			fault = fmt.Sprintf("ExecutorInfo is not compatible with existing ExecutorInfo with same ExecutorID.\n"+
				"Existing ExecutorInfo:\n%v\nExecutorInfo:\n%v", running, e)
		}
		need = resources{}
	}
	return need, fault
}

// validateID returns why an id cannot be used, or "".
func validateID(id string) string {
	switch {
	case id == "":
		return "ID must not be empty"
	case len(id) > maxID:
		return fmt.Sprintf("ID must not be greater than %d characters", maxID)
	case id == "." || id == "..":
		return fmt.Sprintf("'%s' is disallowed", id)
	case strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r == 0x7f || r == '/' || r == '\\' }):
		return fmt.Sprintf("'%s' contains invalid characters", id)
	}
	return ""
}
