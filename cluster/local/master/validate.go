package master

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/mesos/mesos-go/api/v1/lib"
)

// longestID is the longest file name: ids become folders.
const longestID = 255

// invalidTask says in Mesos' words why a task cannot be launched with what is
// available; when it can, need is what it takes, its executor included if that does not run yet.
func (m *Master) invalidTask(f *framework, a *agent, task *mesos.TaskInfo, available quantities) (need quantities, fault string) {
	id := task.TaskID.Value
	if fault := invalidID(id); fault != "" {
		return nil, fault
	}
	if f.tasks[id] != nil {
		return nil, "Task has duplicate ID: " + id
	}
	if task.AgentID.Value != a.id {
		return nil, fmt.Sprintf("Task uses invalid agent %s while agent %s is expected", task.AgentID.Value, a.id)
	}
	if len(task.Resources) == 0 {
		return nil, "Task uses no resources"
	}
	if fault := invalidResources(task.Resources); fault != "" {
		return nil, fault
	}
	if (task.Executor == nil) == (task.Command == nil) {
		return nil, "Task should have at least one (but not both) of CommandInfo or ExecutorInfo present"
	}
	need = parse(task.Resources)
	if e := task.Executor; e != nil {
		running := f.executors[a.id][e.ExecutorID.Value]
		if fault := invalidExecutor(f, e, running); fault != "" {
			return nil, fault
		}
		if running == nil {
			need = need.plus(parse(e.Resources))
		}
	}
	if !available.contains(need) {
		role := f.role()
		return nil, fmt.Sprintf("Total resources %s required by task and its executor is more than available %s", need.text(role), available.text(role))
	}
	return need, ""
}

func invalidExecutor(f *framework, e *mesos.ExecutorInfo, running *executor) string {
	switch e.Type {
	case mesos.ExecutorInfo_CUSTOM:
		if e.Command == nil {
			return "'ExecutorInfo.command' must be set for 'CUSTOM' executor"
		}
	default:
		return "'ExecutorInfo.type' must be 'CUSTOM'"
	}
	if fault := invalidID(e.ExecutorID.Value); fault != "" {
		return fault
	}
	if of := e.GetFrameworkID().GetValue(); of != f.id {
		return fmt.Sprintf("ExecutorInfo has an invalid FrameworkID (Actual: %s vs Expected: %s)", of, f.id)
	}
	if fault := invalidResources(e.Resources); fault != "" {
		return fault
	}
	if running != nil && !running.info.Equal(e) {
		const rule = "------------------------------------------------------------\n"
		return "ExecutorInfo is not compatible with existing ExecutorInfo with same ExecutorID.\n" +
			rule + "Existing ExecutorInfo:\n" + debugString(&running.info) + "\n" +
			rule + "ExecutorInfo:\n" + debugString(e) + "\n" + rule
	}
	return ""
}

func invalidID(id string) string {
	switch {
	case id == "":
		return "ID must not be empty"
	case len(id) > longestID:
		return fmt.Sprintf("ID must not be greater than %d characters", longestID)
	case id == "." || id == "..":
		return fmt.Sprintf("'%s' is disallowed", id)
	case strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r == 0x7f || r == '/' || r == '\\' }):
		return fmt.Sprintf("'%s' contains invalid characters", id)
	}
	return ""
}

func invalidResources(resources []mesos.Resource) string {
	for i := range resources {
		r := &resources[i]
		fault := ""
		switch r.GetType() {
		case mesos.SCALAR:
			v := r.GetScalar().GetValue()
			switch {
			case r.Scalar == nil || r.Ranges != nil || r.Set != nil:
				fault = "Invalid scalar resource"
			// A double holds thousandths exactly only up to here.
			case math.IsNaN(v) || v > 1e12 || milli(v) <= 0:
				fault = "Invalid scalar resource: value <= 0"
				if v > 1e12 {
					fault = "Invalid scalar resource: value is too large"
				}
			}
		case mesos.RANGES:
			if r.Ranges == nil || r.Scalar != nil || r.Set != nil {
				fault = "Invalid ranges resource"
			}
			for _, s := range r.GetRanges().GetRange() {
				if s.Begin > s.End {
					fault = "Invalid ranges resource: begin > end"
				}
			}
		case mesos.SET:
			if r.Set == nil {
				fault = "Invalid set resource"
			}
		default:
			fault = "Unsupported resource type"
		}
		if r.Name == "" {
			fault = "Empty resource name"
		}
		if fault != "" {
			return fmt.Sprintf("Resource '%s:%s' is invalid: %s", r.Name, resourceValue(r), fault)
		}
	}
	return ""
}

func resourceValue(r *mesos.Resource) string {
	if r.GetType() == mesos.SCALAR {
		v := r.GetScalar().GetValue()
		if math.IsNaN(v) || math.Abs(v) > 1e12 {
			return strconv.FormatFloat(v, 'g', -1, 64)
		}
		return strconv.FormatFloat(float64(milli(v))/1000, 'f', -1, 64)
	}
	a := amount{kind: r.GetType()}
	for _, s := range r.GetRanges().GetRange() {
		a.ranges = append(a.ranges, span{s.Begin, s.End})
	}
	return a.value()
}
