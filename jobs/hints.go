package jobs

import (
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/lease"
)

// Hints returns the additional information about a job's fields that forms and editors need.
func Hints() map[string]document.Hint {
	return map[string]document.Hint{
		"jobName":                {Required: true, MaxLength: 100, Pattern: app.NamePattern, Description: "The job's unique name, which never changes: letters, digits, '.', '_' and '-'."},
		"appName":                {Required: true, MaxLength: 100, Pattern: app.NamePattern, Description: "The app whose package runs the job."},
		"jobExecutionType":       {Enum: []string{Transient, Daemon}, Description: "TRANSIENT takes resources only while it runs; DAEMON keeps them, and its executors fire it. Left out: TRANSIENT."},
		"cron":                   {Description: "When it fires, in Quartz's dialect: seconds, minutes, hours, day of month, month, day of week and, optionally, year. Empty: on trigger only, which a DAEMON can't be."},
		"shardingTotalCount":     {Required: true, Minimum: 1, Maximum: MaxShards, Description: "How many shards a run has. They are numbered from 0."},
		"cpuCount":               {Required: true, Minimum: app.MinCPUCount, Maximum: app.MaxCPUCount, Description: "CPU of each shard."},
		"cpuLimit":               {Maximum: app.MaxCPUCount, Description: "On Kubernetes: the most CPU that a shard may use, at least cpuCount. 0: no limit."},
		"memoryMB":               {Required: true, Minimum: app.MinMemoryMB, Maximum: app.MaxMemoryMB, Description: "Memory of each shard in MB."},
		"shardingItemParameters": {Description: "A parameter for each shard, as in 0=a,1=b,2=c."},
		"jobParameter":           {Description: "A parameter for all shards."},
		"failover":               {Description: "A shard that was lost with its executor or agent runs again, instead of failing the run."},
		"misfire":                {Description: "Fires that find the job running wait, instead of being dropped."},
		"description":            {Description: "For people."},
		"props":                  {Description: "Properties by name: " + PropScript + ", " + PropScriptContext + ", " + PropHTTPURL + ", those of error handlers, " + PropStreaming + ", and the job's own."},
		"jobExecutorServiceHandlerType": {Enum: []string{"", ConcurrencyCPU, ConcurrencySingle},
			Description: "How many shards of a daemon an executor runs at once: twice as many as the machine has CPUs, or one. Empty: all."},
		"jobErrorHandlerType": {Enum: append([]string{""}, errorHandlers()...),
			Description: "What else happens when a run fails: LOG and THROW log it, IGNORE does not, and the others notify those whom props name. Empty: LOG."},
		"timeZone":            {Description: "The IANA zone of the cron, such as Asia/Shanghai. Empty: the server's."},
		"timeoutSeconds":      {Maximum: MaxTimeoutSeconds, Description: "A shard that runs for longer is killed and fails as TIMED_OUT. 0: no limit."},
		"maxRetries":          {Maximum: MaxRetries, Description: "How often a shard that failed is run again."},
		"retryBackoffSeconds": {Maximum: MaxRetryBackoffSeconds, Description: "How long a shard that failed waits until it is run again; each time twice as long. 0: 200 milliseconds."},
		"killGraceSeconds":    {Maximum: MaxKillGraceSeconds, Description: "The time between SIGTERM and SIGKILL. 0: the server's --kill-grace."},
		"unreachableSeconds":  {Maximum: MaxUnreachableSeconds, Description: "How long the agent of a shard may be silent before the shard is given up: with failover it then runs elsewhere, otherwise it is LOST. 15 or more; 0: the server's --unreachable-after."},
		"exclusive":           {Description: "No two attempts of a shard ever run at once, not even if an agent is cut off. Without a scheduler for longer than leaseSeconds, the job's shards are stopped."},
		"leaseSeconds":        {Maximum: lease.MaxSeconds, Description: "How long an exclusive shard may run without an answer of a scheduler. 10 or more; 0: 60."},
		"keepFailed":          {Maximum: MaxKeepFailed, Description: "How many working directories of failed and timed-out attempts each executor keeps. 0: as many as the server's --executor-limit keep-failed says."},
		"env":                 {Description: "Variables of the job's processes. A value is a text, a secret {\"value\":…,\"secret\":true}, or is read on the agent: {\"fromFile\":…} or {\"fromEnv\":…}."},
	}
}
