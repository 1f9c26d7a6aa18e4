package runs

import (
	"context"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/answer"
	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// metaInfo identifies a shard, in the original's form.
type metaInfo struct {
	JobName       string `json:"jobName"`
	ShardingItems []int  `json:"shardingItems"`
}

// taskContext is a running task in the original's form, with new fields at the end. Idle is always false.
type taskContext struct {
	ID          string               `json:"id"`
	MetaInfo    metaInfo             `json:"metaInfo"`
	Type        string               `json:"type"`
	SlaveID     string               `json:"slaveId"`
	Idle        bool                 `json:"idle"`
	ExecutionID string               `json:"executionId"`
	State       executions.State     `json:"state"`
	Progress    *executions.Progress `json:"progress,omitempty"`
}

func (h *Handlers) runningTasks(c *gin.Context) (any, error) {
	all, err := caller.ReadList(c.Request.Context(), h.Scheduler, explain.Reader.RunningTasks)
	return answer.Each(all, err, func(v views.TaskView) taskContext {
		return taskContext{ID: v.TaskID, MetaInfo: metaInfo{v.JobName, []int{v.Item}}, Type: v.Type,
			SlaveID: v.Agent, ExecutionID: v.ExecutionID, State: v.State, Progress: v.Progress}
	})
}

// readyJob is a job that waits for resources, in the original's form. Times is the number of its waiting runs, as
// text.
type readyJob struct {
	JobName string `json:"jobName"`
	Times   string `json:"times"`
}

func (h *Handlers) readyJobs(c *gin.Context) (any, error) {
	all, err := caller.ReadList(c.Request.Context(), h.Scheduler, explain.Reader.ReadyJobs)
	return answer.Each(all, err, func(v views.ReadyView) readyJob { return readyJob{v.JobName, strconv.Itoa(v.Times)} })
}

// failoverShard is a shard that waits to run again, in the original's form.
type failoverShard struct {
	TaskInfo       metaInfo `json:"taskInfo"`
	OriginalTaskID string   `json:"originalTaskId"`
}

func (h *Handlers) failoverShards(c *gin.Context) (any, error) {
	all, err := caller.ReadList(c.Request.Context(), h.Scheduler, explain.Reader.FailoverShards)
	return answer.Each(all, err, func(v views.FailoverView) failoverShard {
		return failoverShard{metaInfo{v.JobName, []int{v.Item}}, v.OriginalTaskID}
	})
}

func (h *Handlers) explain(c *gin.Context) (any, error) {
	name, err := request.PathName("job")(c)
	if err != nil {
		return nil, err
	}
	e, err := caller.ReadWith(c.Request.Context(), h.Scheduler, explain.Reader.Explain, name)
	e.NextFires, e.Waiting, e.Running = answer.OrEmpty(e.NextFires), answer.OrEmpty(e.Waiting),
		answer.OrEmpty(e.Running)
	return e, err
}

// Accepted is the answer to a request to kill or to forget. The request is committed; killed processes end later.
type Accepted struct {
	TaskID      string `json:"taskId,omitempty"`
	ExecutionID string `json:"executionId,omitempty"`
	Forgotten   bool   `json:"forgotten,omitempty"`
	Killing     bool   `json:"killing,omitempty"`
}

func (h *Handlers) forgetTask(ctx context.Context, id string) (any, error) {
	return Accepted{TaskID: id, Forgotten: true}, h.Scheduler.ForgetTask(ctx, caller.ScopeOf(ctx), id)
}

func (h *Handlers) killTask(ctx context.Context, id string) (any, error) {
	return Accepted{TaskID: id, Killing: true}, h.Scheduler.KillTask(ctx, caller.ScopeOf(ctx), id)
}

func (h *Handlers) killExecution(ctx context.Context, id string) (any, error) {
	return Accepted{ExecutionID: id, Killing: true}, h.Scheduler.KillExecution(ctx, caller.ScopeOf(ctx), id)
}
