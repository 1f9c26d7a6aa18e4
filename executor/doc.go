// Package executor runs the shards of an app on one agent. The agent starts one executor per app. The executor
// lives as long as the scheduler needs it, and runs any number of tasks at once.
//
//	agent ──LAUNCH──▶ ledger (tasks, and updates that are not acknowledged)
//	                    │ task (package tasks): fetch (pack) ─▶ find the command ─▶ start (supervisor) ─▶ wait
//	agent ◀─UPDATE──  ledger ◀─ STARTING, RUNNING, FINISHED | FAILED | KILLED
//
// The executor talks to the agent over Mesos' v1 executor API. Package agent has its types; local.go replaces the
// agent when a user tries a package. Rules X5 to X7 say what happens when the agent goes away, comes back, or does
// not know the executor, and when the executor dies: see session.go and package supervisor.
//
// # Runs
//
// A process talks to the executor over two pipes (sdk/protocol.md, package pipe). A transient task is one process
// and one run (tasks/transient.go). A daemon's shard (tasks/shard.go) lives until it is killed. Package daemon
// decides when the shard fires, and what becomes of a run that fails, takes too long or overlaps with another. A
// runner executes the runs, by one process each or by a resident process (tasks/processrunner.go). Each shard is
// driven by a goroutine of its own. Each run is reported by updates of state RUNNING; progress and health are sent
// in messages that may get lost (tasks/reports.go). The last progress of a transient task is also in the update of its
// end.
//
// A failure in a task, such as a package that can't be fetched, fails only that task, with the reason. The size of
// packages and output and the time for a fetch are limited, by defaults, arguments or the environment: see limits.go
// for the names.
//
// # In a pod
//
// On Kubernetes each task has its own pod, and the executor is the first process of the task's container ("executor
// pod", pod.go). There is no agent, and the executor sends nothing over the network. A replacement for the agent
// (podAgent) launches the task. While the task runs, podAgent writes records (wire.PodRecord) into the container's
// output, between the lines of the job: that the package is being fetched and that the fetch has ended, the runs of
// a daemon's shard, and progress. The end of the task is in the exit status and, with all its details, in the
// termination message. A signal to the first process is the kill. The job has the container's own streams (package
// output) and variables (package container). There are no output files, and nothing is kept for another task. A
// daemon's shard is drained when a file says so. The executor is its own supervisor (supervisor.Inside): no task
// can kill the first process of the container, and everything ends with it.
//
// A container can be started a second time although its pod has the restart policy Never: by a kubelet whose
// container runtime was killed during the first start. The second container repeats an unfinished fetch from the
// beginning. But it never runs a task that the first container may have run: before the first process is started, the
// first request is sent or a daemon's shard fires, a marker is written to disk in the pod's folder, which outlives
// containers (container/begun.go). If the marker exists, the second container runs nothing and reports that the task
// may have run, as after the loss of a supervisor. A job that removes the marker gives up this protection.
//
// If an app has its own image, an init container of the project's image first fetches and unpacks the package, and
// copies this program for the app's image (podprepare.go).
//
// # TLS and users
//
// The executor uses TLS if LIBPROCESS_SSL_ENABLED is set. Either the scheduler sets it in the ExecutorInfo, with
// the CA's certificates in ELASTICJOB_MESOS_CA and the agent's name in ELASTICJOB_AGENT_HOSTNAME. Or the agent's
// operator sets it in --executor_environment_variables, with the names that libprocess knows (agent/tls.go). The
// agent's certificate is valid if it is for the agent's IP or one of its names. The executor's own certificate can
// come from the agent only.
//
// URLs of packages are logged and reported without passwords and without their query, which may be a signature
// (pack/redact.go).
//
// Packages are cached in the agent's work folder, in one folder per user, or in the sandbox if the user can't write
// to the work folder (cache.go). Each task has its own working folder that shows its package (package workdir).
//
// With --run-as, tasks run as another user, and the executor as root (package isolation). The sandbox and the cache
// then belong to root; the tasks' user may pass through them and read packages. Working and temporary folders
// belong to the tasks' user, and the executor touches their content only with the rights of that user. Output files
// belong to root; tasks have them open for writing. An executor that runs as root without --run-as refuses tasks.
//
// The /proc entries of an executor and its supervisor are closed to tasks. If tasks run as the executor's user and
// the agent is that of scheduler --local, the server's data folder is hidden (HiddenFrom). The executor sees of it
// only the sandbox, the cache and the folders for secrets, without the secrets of other apps; tasks see only the
// sandbox and the cache. So if a task replaces one of the executor's files by a link, the link leads the executor to
// nothing that is hidden from the task, except for secrets of the task's own app.
//
// An executor of --local trusts only the agent that started it, because a task can listen on the agent's port while
// the agent is down: it has that agent's authority in ELASTICJOB_MESOS_CA. Every executor is for one app, which its
// id names, and refuses tasks of other apps.
//
// # Limits of the isolation
//
// Tasks run without a control group of their own. A malicious task can do to the app's other tasks on this agent,
// and without --run-as to the executor, what its user can:
//
//   - Kill the supervisor or the executor: all tasks of this executor end. An executor that survives reports the
//     reason. The survivor also kills processes that had left the executor's session. If a task kills both at once,
//     the agent kills only the processes that are still in that session. If a task stops one of them (SIGSTOP), the
//     other continues it.
//   - Drop the group, the session, the marker in the environment and the resource limit by which its processes are
//     recognized: such a process is found only when no other task of this executor runs.
//   - Use all memory of the container and, as root, any number of processes. For other users each task has a limit
//     of processes. A task that raises it on purpose can use all processes that its user may have, so that the
//     executor, if it has the same user, gets no thread. A fork bomb is killed when its task ends or is killed, not
//     before.
//   - Fill the disk while it runs. Output is cut within milliseconds, but a fast writer can be tens of megabytes
//     ahead, and more on a busy machine. Files in other places are not limited; the task's TMPDIR and working
//     folder are removed when it ends.
//   - Change files of the executor's user, such as other tasks' output and kept packages. A changed package is
//     detected before its next use, and replaced (pack/inventory.go). Another executor does not detect the change if
//     the task also changed the records of the cache. If a task puts a pipe or a link in the place of an output file,
//     that is removed, or only the task whose output file it replaces fails.
package executor
