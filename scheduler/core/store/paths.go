package store

import (
	"strconv"
	"strings"
)

// Paths of the registry. Documents, disabled marks and the framework id are where the original scheduler keeps them.
// The original's queues are read once. Everything below /scheduler belongs to this scheduler alone.
const (
	PathApps         = "/config/app"        // documents of apps, by name
	PathJobs         = "/config/job"        // documents of jobs, by name
	PathAppDisabled  = "/state/disable/app" // disabled marks of apps
	PathJobDisabled  = "/state/disable/job" // disabled marks of jobs
	PathFramework    = "/ha/framework_id"   // the present framework id
	PathReady        = "/state/ready"       // the original's queue of waiting jobs
	PathRunning      = "/state/running"     // the original's running tasks, by job
	PathFailover     = "/state/failover"    // the original's queue of lost shards, by job
	pathCore         = "/scheduler"
	PathOurFramework = "/scheduler/framework"       // the framework id that this scheduler made or took over
	PathStartFailure = "/scheduler/start-failure"   // start failures, by startfailures.Key
	PathCursor       = "/scheduler/fire-cursor"     // the cursor up to which fires were made
	PathLeaps        = "/scheduler/fire-leaps"      // leaps of the clock before which the cursor can be taken back
	PathMadeUp       = "/scheduler/fires-made-up"   // spans whose fires were made for missed windows, by job
	PathCounter      = "/scheduler/counter"         // the number of the last executor
	PathFencing      = "/scheduler/fencing-token"   // the highest fencing token that is reserved
	PathLeaseSecret  = "/scheduler/lease-secret"    // the secret of the keys with which leases are asked for
	PathJobState     = "/scheduler/job"             // records of jobs beside their documents
	PathExecution    = "/scheduler/execution"       // executions, by id
	PathShards       = "/scheduler/shards"          // chunks of the shards of large executions
	PathDaemonRuns   = "/scheduler/daemon-runs"     // runs of daemons' shards
	PathExecutor     = "/scheduler/executor"        // executors, by id
	PathOrphan       = "/scheduler/orphan"          // orphans, by task id
	PathKey          = "/scheduler/idempotency-key" // ids of executions triggered with an Idempotency-Key
	PathNotification = "/scheduler/notification"    // pending notifications, by job
	PathOldFramework = "/scheduler/old-framework"   // framework ids that were removed, and when
	PathAudit        = "/scheduler/audit"           // audit rows
	PathStateVersion = "/scheduler/version"         // the release that the state requires
	PathMachine      = "/scheduler/machine"         // marks of cordoned machines, by host name
	PathIncident     = "/scheduler/incident"        // incidents, by kind and machine or job
	PathClusterKind  = "/scheduler/cluster"         // Options.ClusterKind when the framework id was made

	PathHistoryBatches = "/scheduler/history-batches" // the number of batches of each of the last terms
	PathHistoryStored  = "/scheduler/history-stored"  // the last end that the history has stored
	// The number that is added to this registry's terms in the history.
	PathHistoryBase = "/scheduler/history-base"
)

// Paths returns the paths below which the whole state of a term is stored.
func Paths() []string { return []string{"/config", "/state", "/ha", pathCore} }

// ChunkPath returns the path of a chunk, counted from 0, of an execution's shards.
func ChunkPath(execution string, chunk int) string {
	return PathShards + "/" + execution + "/" + strconv.Itoa(chunk)
}

// Limits of the records of executions.
const (
	// InlineShards is the maximum number of shards in the record of an execution. The shards of a larger execution are
	// stored in chunks, so that a change of one shard writes only its chunk.
	InlineShards = 50
	// ChunkShards is the number of shards in a chunk.
	ChunkShards = 100
	// CauseBytes bounds each stored text about a shard's failure, so that a chunk of shards fits one commit.
	CauseBytes = 2000
)

// Split cuts a path at its last slash into the directory and the name. The path must contain a slash.
func Split(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	return path[:i], path[i+1:]
}
