package store

import (
	"strconv"
	"strings"
)

// Where things are in the registry. Documents, marks and the framework id are
// where the original keeps them; what waits in its
// queues is read once; all that is under /scheduler is this scheduler's own.
const (
	PathApps         = "/config/app"
	PathJobs         = "/config/job"
	PathAppDisabled  = "/state/disable/app"
	PathJobDisabled  = "/state/disable/job"
	PathFramework    = "/ha/framework_id"
	PathReady        = "/state/ready"
	PathRunning      = "/state/running"
	PathFailover     = "/state/failover"
	pathCore         = "/scheduler"
	PathOurFramework = "/scheduler/framework"
	PathStartFailure = "/scheduler/start-failure"
	PathCursor       = "/scheduler/fire-cursor"
	PathCounter      = "/scheduler/counter"
	PathJobState     = "/scheduler/job"
	PathExecution    = "/scheduler/execution"
	PathShards       = "/scheduler/shards"
	PathDaemonRuns   = "/scheduler/daemon-runs"
	PathExecutor     = "/scheduler/executor"
	PathOrphan       = "/scheduler/orphan"
	PathKey          = "/scheduler/idempotency-key"
	PathNotification = "/scheduler/notification"
	PathOldFramework = "/scheduler/old-framework"
	PathAudit        = "/scheduler/audit"
	PathStateVersion = "/scheduler/version"
	PathClusterKind  = "/scheduler/cluster"

	PathHistoryBatches = "/scheduler/history-batches"
	PathHistoryStored  = "/scheduler/history-stored"
	PathHistoryBase    = "/scheduler/history-base"
)

// Paths are where a term that begins finds all that Load needs.
func Paths() []string { return []string{"/config", "/state", "/ha", pathCore} }

func ChunkPath(execution string, chunk int) string {
	return PathShards + "/" + execution + "/" + strconv.Itoa(chunk)
}

// Shards of an execution are kept in its header up to inlineShards, else in
// chunks of chunkShards (a change of one shard then writes few).
const (
	InlineShards = 50
	ChunkShards  = 100
	// causeBytes bounds each text in what is kept of a shard's failure, so that a chunk of them fits one commit.
	CauseBytes = 2000
)

func Split(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	return path[:i], path[i+1:]
}
