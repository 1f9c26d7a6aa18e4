package core

import (
	"strconv"
	"strings"
)

// Where things are in the registry. Documents, marks and the framework id are
// where the original keeps them; what waits in its
// queues is read once; all that is under /scheduler is this scheduler's own.
const (
	pathApps         = "/config/app"
	pathJobs         = "/config/job"
	pathAppDisabled  = "/state/disable/app"
	pathJobDisabled  = "/state/disable/job"
	pathFramework    = "/ha/framework_id"
	pathReady        = "/state/ready"
	pathRunning      = "/state/running"
	pathFailover     = "/state/failover"
	pathCore         = "/scheduler"
	pathOurFramework = "/scheduler/framework"
	pathStartFailure = "/scheduler/start-failure"
	pathCursor       = "/scheduler/fire-cursor"
	pathCounter      = "/scheduler/counter"
	pathJobState     = "/scheduler/job"
	pathExecution    = "/scheduler/execution"
	pathShards       = "/scheduler/shards"
	pathDaemonRuns   = "/scheduler/daemon-runs"
	pathExecutor     = "/scheduler/executor"
	pathOrphan       = "/scheduler/orphan"
	pathKey          = "/scheduler/idempotency-key"
	pathNotification = "/scheduler/notification"
	pathOldFramework = "/scheduler/old-framework"
	pathAudit        = "/scheduler/audit"
	pathStateVersion = "/scheduler/version"
	pathClusterKind  = "/scheduler/cluster"

	pathHistoryBatches = "/scheduler/history-batches"
	pathHistoryStored  = "/scheduler/history-stored"
	pathHistoryBase    = "/scheduler/history-base"
)

// Paths are where a term that begins finds all that Load needs.
func Paths() []string { return []string{"/config", "/state", "/ha", pathCore} }

func chunkPath(execution string, chunk int) string {
	return pathShards + "/" + execution + "/" + strconv.Itoa(chunk)
}

// Shards of an execution are kept in its header up to inlineShards, else in
// chunks of chunkShards (a change of one shard then writes few).
const (
	inlineShards = 50
	chunkShards  = 100
	// causeBytes bounds each text in what is kept of a shard's failure, so that a chunk of them fits one commit.
	causeBytes = 2000
)

func splitPath(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	return path[:i], path[i+1:]
}
