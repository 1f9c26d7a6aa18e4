package mesos

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// executorVersion is the latest version of the mapping from cluster.Executor to ExecutorInfo.
const executorVersion = 3

func subscribeCall(f cluster.Framework) *scheduler.Call {
	call := &scheduler.Call{
		Type: scheduler.Call_SUBSCRIBE,
		Subscribe: &scheduler.Call_Subscribe{FrameworkInfo: &mesos.FrameworkInfo{
			User:            f.User,
			Name:            f.Name,
			FailoverTimeout: ptr(f.FailoverTimeout.Seconds()),
			Checkpoint:      ptr(true),
			Role:            optional(f.Role),
			Hostname:        optional(f.Hostname),
			Principal:       optional(f.Principal),
			WebUiURL:        optional(f.WebUI),
			Capabilities: []mesos.FrameworkInfo_Capability{
				{Type: mesos.FrameworkInfo_Capability_PARTITION_AWARE},
			},
		}},
	}
	if f.ID != "" {
		call.FrameworkID = &mesos.FrameworkID{Value: f.ID}
		call.Subscribe.FrameworkInfo.ID = call.FrameworkID
	}
	return call
}

func acceptCall(a cluster.Launch) (*scheduler.Call, error) {
	tasks := make([]mesos.TaskInfo, len(a.Tasks))
	var executor *mesos.ExecutorInfo // of the current task; tasks with the same executor share it
	parsed := reservations{}
	for i := range a.Tasks {
		t := &a.Tasks[i]
		if i == 0 || !sameExecutor(&t.Executor, &a.Tasks[i-1].Executor) {
			var err error
			if executor, err = executorInfo(&t.Executor); err != nil {
				return nil, fmt.Errorf("task %s: %w", t.TaskID, err)
			}
		}
		resources, err := parsed.resourcesOf(t.Resources, t.Reserved)
		if err != nil {
			return nil, fmt.Errorf("task %s: %w", t.TaskID, err)
		}
		description, err := t.Description()
		if err != nil {
			return nil, err
		}
		tasks[i] = mesos.TaskInfo{
			Name:      t.Name,
			TaskID:    mesos.TaskID{Value: t.TaskID},
			AgentID:   mesos.AgentID{Value: a.AgentID},
			Resources: resources,
			Executor:  executor,
			Data:      description,
		}
	}
	accept := &scheduler.Call_Accept{OfferIDs: offerIDs(a.OfferIDs), Filters: filters(a.Refuse)}
	if len(tasks) > 0 {
		accept.Operations = []mesos.Offer_Operation{{
			Type:   mesos.Offer_Operation_LAUNCH,
			Launch: &mesos.Offer_Operation_Launch{TaskInfos: tasks},
		}}
	}
	return &scheduler.Call{Type: scheduler.Call_ACCEPT, Accept: accept}, nil
}

// executorInfo encodes an executor. For each version, the bytes must never change (rule X4): executors that former
// releases started still run with these bytes, and Mesos rejects a task whose ExecutorInfo differs. A change requires a
// new version beside the existing ones. The result depends on the argument only.
func executorInfo(e *cluster.Executor) (*mesos.ExecutorInfo, error) {
	if e.Version < 1 || e.Version > executorVersion {
		return nil, fmt.Errorf("executor %s is of version %d, this release knows 1 to %d", e.ID, e.Version,
			executorVersion)
	}
	if len(e.Command) == 0 {
		return nil, fmt.Errorf("executor %s has no command", e.ID)
	}
	info := &mesos.ExecutorInfo{
		Type:        mesos.ExecutorInfo_CUSTOM,
		ExecutorID:  mesos.ExecutorID{Value: e.ID},
		FrameworkID: &mesos.FrameworkID{Value: e.Framework},
		Name:        ptr(e.Name),
		Command: &mesos.CommandInfo{
			Shell:     ptr(false),
			Value:     ptr(e.Command[0]),
			Arguments: e.Command,
			URIs: []mesos.CommandInfo_URI{{
				Value:      e.BinaryURI,
				Executable: ptr(true),
				Extract:    ptr(false),
				Cache:      ptr(true),
				OutputFile: ptr(path.Base(e.Command[0])),
			}},
		},
		Resources: scalars(e.Resources),
	}
	if e.Version >= 2 {
		addSince2(info, e)
	}
	if e.Version >= 3 && len(e.Reserved) > 0 {
		var err error
		if info.Resources, err = make(reservations).resourcesOf(e.Resources, e.Reserved); err != nil {
			return nil, fmt.Errorf("executor %s: %w", e.ID, err)
		}
	}
	return info, nil
}

// addSince2 sets the fields that version 1 does not have.
func addSince2(info *mesos.ExecutorInfo, e *cluster.Executor) {
	info.Command.User = optional(e.User)
	if len(e.Environment) > 0 {
		info.Command.Environment = &mesos.Environment{}
		for _, name := range slices.Sorted(maps.Keys(e.Environment)) {
			info.Command.Environment.Variables = append(info.Command.Environment.Variables,
				mesos.Environment_Variable{Name: name, Value: ptr(e.Environment[name])})
		}
	}
	if e.ShutdownGrace > 0 {
		info.ShutdownGracePeriod = &mesos.DurationInfo{Nanoseconds: e.ShutdownGrace.Nanoseconds()}
	}
}

func sameExecutor(a, b *cluster.Executor) bool {
	return a.Version == b.Version && a.ID == b.ID && a.Framework == b.Framework && a.Name == b.Name &&
		a.Resources == b.Resources && a.BinaryURI == b.BinaryURI && slices.Equal(a.Command, b.Command) &&
		a.User == b.User && slices.Equal(a.Reserved, b.Reserved) && a.ShutdownGrace == b.ShutdownGrace &&
		maps.Equal(a.Environment, b.Environment)
}

// scalars encodes unreserved resources: the role stays at its default, "*". It omits zero amounts, which Mesos rejects
// as invalid.
func scalars(r resources.Amount) []mesos.Resource {
	resources := make([]mesos.Resource, 0, 2)
	values := &struct {
		kind      mesos.Value_Type
		cpus, mem mesos.Value_Scalar
	}{kind: mesos.SCALAR} // one allocation for all values that the resources point to
	// The quotients are the doubles closest to the decimal fractions, as Mesos parses them.
	values.cpus.Value, values.mem.Value = float64(r.CPUMilli)/1000, float64(r.MemMilli)/1000
	if r.CPUMilli != 0 {
		resources = append(resources, mesos.Resource{Name: "cpus", Type: &values.kind, Scalar: &values.cpus})
	}
	if r.MemMilli != 0 {
		resources = append(resources, mesos.Resource{Name: "mem", Type: &values.kind, Scalar: &values.mem})
	}
	return resources
}

func offerIDs(ids []string) []mesos.OfferID {
	out := make([]mesos.OfferID, len(ids))
	for i, id := range ids {
		out[i] = mesos.OfferID{Value: id}
	}
	return out
}

// filters returns a filter for this time. It sets RefuseSeconds even for 0, because Mesos' default is 5 seconds.
func filters(refuse time.Duration) *mesos.Filters {
	return &mesos.Filters{RefuseSeconds: ptr(refuse.Seconds())}
}

// agentID returns nil for an unknown agent.
func agentID(id string) *mesos.AgentID {
	if id == "" {
		return nil
	}
	return &mesos.AgentID{Value: id}
}

func ptr[T any](v T) *T { return &v }

// optional returns nil for "", because Mesos distinguishes an empty field from a missing one.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
