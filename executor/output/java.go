package output

import "regexp"

// startsJavaExecutor is why a package of the original fails here that is no script.
const startsJavaExecutor = "this package starts ElasticJob-Cloud's Java executor (JobBootstrap), which this executor replaces; " +
	"give the job a script.command.line, or the app a bootstrap script that does the work itself: " +
	"the shard is in the environment variables ELASTICJOB_…"

var (
	// libmesos, when it is not there, or there and not started by an agent.
	needsMesos = regexp.MustCompile(`Expecting 'MESOS_[A-Z_]+' to be set in the environment|` +
		`no mesos in java\.library\.path|Failed to load native Mesos library|` +
		`(UnsatisfiedLinkError|NoClassDefFoundError|ClassNotFoundException|ExceptionInInitializerError).*\borg[./]apache[./]mesos\b|` +
		`\bat org\.apache\.mesos\.Mesos(ExecutorDriver|NativeLibrary)\b`)
	// The original's own frames: of 3.0, of its alphas, and of 2.1.
	inOriginal = regexp.MustCompile(`\bat (org\.apache\.shardingsphere\.elasticjob\.cloud|com\.dangdang\.ddframe\.job\.cloud)\.(executor|api)\.`)
	// Its way to run one item without Mesos, which works here as anywhere.
	inLocal = regexp.MustCompile(`\bat [\w.]+\.cloud\.executor\.local\.`)
)

// javaExecutor recognises, by the end of a failed process's output, that it was the original's
// executor for Java jobs: that one needs libmesos and an agent that launched it. It is empty for
// all else, and so for a job's own stack trace.
func javaExecutor(output string) string {
	if needsMesos.MatchString(output) || inOriginal.MatchString(output) && !inLocal.MatchString(output) {
		return startsJavaExecutor
	}
	return ""
}

// withReason adds to what happened the reason that the output shows, if it is known.
func withReason(what, output string) string {
	if why := javaExecutor(output); why != "" {
		return what + "; " + why
	}
	return what
}
