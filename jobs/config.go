// Package jobs says what a job is: which app runs it, when, in how many
// shards, and what each shard gets.
//
// The room holds the fields of a job's document with the original's names and
// defaults, their checks, the sharding parameters, and the ids of tasks. When
// a cron fires is jobs/cron's. It imports no room but app.
package jobs

import "github.com/elasticjob-go/elasticjob/app"

// Execution types of a job.
const (
	// Transient jobs take resources only while they run.
	Transient = "TRANSIENT"
	// Daemon jobs keep their resources and are fired by their executor.
	Daemon = "DAEMON"
)

// Config is one job's document. Names and defaults are the original's
// (contract 2.2); fields marked "ours" are additions.
type Config struct {
	JobName                string  `json:"jobName"`
	AppName                string  `json:"appName"`
	JobExecutionType       string  `json:"jobExecutionType"`
	Cron                   string  `json:"cron"`
	ShardingTotalCount     int     `json:"shardingTotalCount"`
	CPUCount               float64 `json:"cpuCount"`
	MemoryMB               float64 `json:"memoryMB"`
	ShardingItemParameters string  `json:"shardingItemParameters"`
	JobParameter           string  `json:"jobParameter"`
	Failover               bool    `json:"failover"`
	Misfire                bool    `json:"misfire"`
	Description            string  `json:"description"`
	// Props holds script.command.line and other properties by name.
	Props map[string]string `json:"props,omitempty"`
	// JobExecutorServiceHandlerType and JobErrorHandlerType are kept for the
	// original's clients.
	JobExecutorServiceHandlerType string `json:"jobExecutorServiceHandlerType,omitempty"`
	JobErrorHandlerType           string `json:"jobErrorHandlerType,omitempty"`
	// TimeZone (ours) is the IANA zone of the cron; empty is the server's.
	TimeZone string `json:"timeZone,omitempty"`
	// MaxRetries (ours) is how often a shard that failed by itself is run again. 0 to 100.
	MaxRetries int `json:"maxRetries,omitempty"`
	// Env (ours) is added to the environment of the job's processes.
	Env map[string]string `json:"env,omitempty"`
}

// PropScript is the property that holds a script job's command line.
const PropScript = "script.command.line"

// Resources is what one shard takes.
func (c Config) Resources() app.Resources { return app.NewResources(c.CPUCount, c.MemoryMB) }
