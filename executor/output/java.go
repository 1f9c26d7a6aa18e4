package output

import "regexp"

// startsJavaExecutor explains the failure of a package for the original that starts the original's Java executor
// instead of a script.
const startsJavaExecutor = "this package starts ElasticJob-Cloud's Java executor (JobBootstrap), which this executor replaces; " +
	"start its job classes by the SDK for Java (docs/java.md), or give the job a script.command.line: " +
	"the shard is in the environment variables ELASTICJOB_…"

var (
	// Errors of libmesos if it is missing, or if no agent has started the process.
	needsMesos = regexp.MustCompile(`Expecting 'MESOS_[A-Z_]+' to be set in the environment|` +
		`no mesos in java\.library\.path|Failed to load native Mesos library|` +
		`(UnsatisfiedLinkError|NoClassDefFoundError|ClassNotFoundException|ExceptionInInitializerError).*\borg[./]apache[./]mesos\b|` +
		`\bat org\.apache\.mesos\.Mesos(ExecutorDriver|NativeLibrary)\b`)
	// Stack frames of the original: of 3.0, of its alphas, and of 2.1.
	inOriginal = regexp.MustCompile(
		`\bat (org\.apache\.shardingsphere\.elasticjob\.cloud|com\.dangdang\.ddframe\.job\.cloud)\.(executor|api)\.`)
	// Stack frames of the original's executor for one item without Mesos, which works here too.
	inLocal = regexp.MustCompile(`\bat [\w.]+\.cloud\.executor\.local\.`)
)

// isJavaExecutor reports whether the end of a failed process's output is from the original's executor for Java jobs,
// which needs libmesos and an agent that launched it. It returns false for other output, such as a job's own stack
// trace.
func isJavaExecutor(output string) bool {
	return needsMesos.MatchString(output) || inOriginal.MatchString(output) && !inLocal.MatchString(output)
}

// withReason appends a reason to the description of a failure if the output shows a known one.
func withReason(failure, output string) string {
	if isJavaExecutor(output) {
		return failure + "; " + startsJavaExecutor
	}
	return failure
}
