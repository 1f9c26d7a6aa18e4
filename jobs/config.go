// Package jobs defines jobs. A job says which app runs it, when, in how many shards, and with which input for each
// shard.
//
// The package contains the fields of a job's document with the original's names and defaults, their checks, the
// sharding parameters, and the ids of tasks. jobs/cron computes when a cron fires. Package document reads the
// documents.
//
// The comment of families in families.go lists what to change for a new kind of job or error handler. The comment of
// Config lists it for a new setting, and that of Transient and Daemon for a new execution type.
package jobs

import (
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// Execution types of a job.
//
// A new type needs a constant here, and its rules in check.go, hints.go and lenient.go. In scheduler/core it needs a
// method like Job.IsDaemon (config/job.go), the life of its executions (executions), a package like daemons for what
// its executors report, and a description of its tasks (tasks). The callers of Job.IsDaemon and Execution.Daemon show
// where the rest of the core treats daemons differently. The description is a field of wire.Task in internal/wire. By
// that field, executor/tasks/begin.go chooses how a task runs.
//
// The API counts the types in api/history/statistics.go and filters by them in api/cluster/live.go. The command line
// names them in cmd/elasticjob/job.go and jobview.go, and docs/api.md describes them. In the console, pages/jobform.js,
// pages/jobs.js and pieces/jobtable.js name the types. pages/jobnow.js, pages/shards.js, pages/execution.js,
// pages/executionacts.js and pieces/jobacts.js ask whether a job is a daemon.
const (
	// Transient jobs use resources only while they run.
	Transient = "TRANSIENT"
	// Daemon jobs keep their resources and are fired by their executor.
	Daemon = "DAEMON"
)

// Config is the document of one job. Names and defaults are the original's (contract 2.2), with one name per field
// [D24]; fields marked "added" are new. The tags alone define how the document is read: see document.Schema.
//
// A new setting is added here, to the checks in check.go, to Hints, to the command line in cmd/elasticjob/job.go, to
// the console in pages/jobform.js and pages/jobsettings.js, and to docs/api.md. If executors need it, it also becomes
// a field of wire.Task, which scheduler/core/tasks sets.
type Config struct {
	// JobName is the unique name, which app.CheckName accepts. It never changes.
	JobName string `json:"jobName"`
	// AppName is the app whose package runs the job.
	AppName string `json:"appName"`
	// JobExecutionType is Transient or Daemon.
	JobExecutionType string `json:"jobExecutionType" default:"\"TRANSIENT\""`
	// Cron is in Quartz's dialect (jobs/cron). If it is empty, the job runs only on trigger. Daemons need one.
	Cron string `json:"cron"`
	// ShardingTotalCount is the number of shards, 1 to MaxShards.
	ShardingTotalCount int `json:"shardingTotalCount"`
	// CPUCount and MemoryMB are the size of one shard.
	CPUCount float64 `json:"cpuCount"`
	MemoryMB float64 `json:"memoryMB"`
	// ShardingItemParameters contains the parameters of single shards: see ShardingParameters.
	ShardingItemParameters string `json:"shardingItemParameters"`
	// JobParameter is the same for all shards.
	JobParameter string `json:"jobParameter"`
	// Failover reruns a lost shard at once.
	Failover bool `json:"failover"`
	// Misfire queues fires that find the job running (rule F5).
	Misfire bool `json:"misfire"`
	// Description is for users; nothing depends on it.
	Description string `json:"description"`
	// Props are properties by name: those of the known families (script.command.line and others), and the job's own.
	Props document.Texts `json:"props,omitempty"`
	// JobExecutorServiceHandlerType limits how many shards of a daemon an executor runs at once (ConcurrencyCPU and
	// others).
	JobExecutorServiceHandlerType string `json:"jobExecutorServiceHandlerType,omitempty"`
	// JobErrorHandlerType says how failed runs are handled: HandlerLog and others.
	JobErrorHandlerType string `json:"jobErrorHandlerType,omitempty"`
	// TimeZone (added) is the IANA zone of the cron; empty means the server's zone.
	TimeZone string `json:"timeZone,omitempty"`
	// TimeoutSeconds (added) is the time after which a run of a shard is killed and fails as timed out; 0 is
	// unlimited.
	TimeoutSeconds int `json:"timeoutSeconds,omitempty"`
	// MaxRetries (added) is how often a shard is rerun whose process failed, 0 to 100.
	MaxRetries int `json:"maxRetries,omitempty"`
	// RetryBackoffSeconds (added) is the time that a failed shard waits before it is rerun. The time doubles with each
	// failure, up to a minute or, if longer, this value. 0 means 200 milliseconds.
	RetryBackoffSeconds int `json:"retryBackoffSeconds,omitempty"`
	// KillGraceSeconds (added) is the time between SIGTERM and SIGKILL; 0 means the server's default.
	KillGraceSeconds int `json:"killGraceSeconds,omitempty"`
	// UnreachableSeconds (added) is how long the agent of a shard may be silent before the shard is given up; 0 means
	// the server's default.
	UnreachableSeconds int `json:"unreachableSeconds,omitempty"`
	// Exclusive (added) means that two attempts of a shard never run at the same time, not even if an agent is cut off
	// (rule K5). An executor holds a lease for each such task, and ends the task when it can't renew the lease.
	Exclusive bool `json:"exclusive,omitempty"`
	// LeaseSeconds (added) is the length of the leases of an exclusive job; 0 means lease.DefaultSeconds.
	LeaseSeconds int `json:"leaseSeconds,omitempty"`
	// KeepFailed (added) is how many working directories of the job's failed and timed-out processes each executor
	// keeps; 0 means the executors' limit keep-failed.
	KeepFailed int `json:"keepFailed,omitempty"`
	// CPULimit (added) is the maximum CPU that a shard may use on a cluster that enforces such limits; 0 is unlimited.
	CPULimit float64 `json:"cpuLimit,omitempty"`
	// Env (added) is added to the environment of the job's processes. Instead of a text, a variable may refer to a
	// file or a variable of the executor.
	Env document.Texts `json:"env,omitempty"`
}

// Schema reads and writes a job's document. It accepts older fields of the original and fields of ElasticJob-Lite with
// a note. The result must still pass Check.
var Schema = document.MustSchema[Config]("jobName", map[string]string{
	"monitorExecution":         "is ignored: executions are always watched",
	"maxTimeDiffSeconds":       "is ignored: it is of ElasticJob-Lite",
	"reconcileIntervalMinutes": "is ignored: the scheduler reconciles by itself",
	"jobShardingStrategyType":  "is ignored: each shard is placed by its resources",
	"jobShardingStrategyClass": "is ignored: each shard is placed by its resources",
	"disabled":                 "is ignored: use POST /api/job/{jobName}/disable",
	"overwrite":                "is ignored: use PUT /api/job/update to change a job",
	"jobListenerTypes":         "is ignored: it is of ElasticJob-Lite",
	"label":                    "is ignored: it is of ElasticJob-Lite",
	"staticSharding":           "is ignored: it is of ElasticJob-Lite",
	"monitorPort":              "is ignored: it is of ElasticJob-Lite",
	"jobExtraConfigurations":   "is ignored: it is of ElasticJob-Lite",
	"jobType": "is ignored: the app's package decides how it works; for a script set props " +
		PropScript,
	"jobClass":           "is ignored: the app's bootstrapScript says what runs",
	"beanName":           "is ignored: the app's bootstrapScript says what runs",
	"applicationContext": "is ignored: the app's bootstrapScript says what runs",
	"streamingProcess":   "is ignored: the app's package decides how it works",
	"scriptCommandLine":  "is ignored: set props " + PropScript + " instead",
	"jobProperties":      "is ignored: set props instead",
})

// Default returns a document with the defaults of the original (contract 2.2).
func Default() Config { return Schema.Default() }

// CPULimitMilli returns the CPU limit of one shard in thousandths; 0 is unlimited.
func (c Config) CPULimitMilli() int64 { return resources.New(c.CPULimit, 0).CPUMilli }

// Resources returns the size of one shard.
func (c Config) Resources() resources.Amount { return resources.New(c.CPUCount, c.MemoryMB) }
