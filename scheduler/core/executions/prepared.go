package executions

import (
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executors"
)

// Prepared has the values that all tasks of an execution share.
type Prepared struct {
	executorKey string
	command     []string
	parameters  map[int]string
	env         jobs.Environment
	props       map[string]string
	// encoded is the part of the description that all tasks share. There is one copy of it; it is encoded again for
	// shards that are requeued.
	encoded wire.Shared
}

// Prepare evaluates the settings of a launched execution once for all its shards. The result must not be changed.
func (e *Execution) Prepare() *Prepared {
	if e.prepared != nil {
		return e.prepared
	}
	line := e.rec.Settings.App.BootstrapScript
	if own := e.rec.Settings.Job.Prop(jobs.PropScript); own != "" {
		line = own
	}
	// Both were checked at registration. An invalid value that another program wrote into the registry is left to the
	// executor, whose error names it.
	command, err := app.SplitCommand(line)
	if err != nil {
		command = []string{line}
	}
	parameters, _, _ := jobs.StoredParameters(e.rec.Settings.Job)
	e.prepared = &Prepared{executorKey: executors.Key(e.rec.Settings.App), command: command, parameters: parameters,
		env: e.rec.Settings.Job.Environment(), props: e.rec.Settings.Job.OwnProps()}
	return e.prepared
}

// ExecutorKey returns the key of the executors that can run the tasks (executors.Key).
func (p *Prepared) ExecutorKey() string { return p.executorKey }

// Command is the program that the tasks run and its arguments.
func (p *Prepared) Command() []string { return p.command }

// Parameters are the sharding parameters by item; items without one are missing.
func (p *Prepared) Parameters() map[int]string { return p.parameters }

// Env is the environment that the job sets for its tasks.
func (p *Prepared) Env() jobs.Environment { return p.env }

// Props are the properties of the job that its tasks are sent.
func (p *Prepared) Props() map[string]string { return p.props }
