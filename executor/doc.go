// Package executor runs the shards of an app on one agent. The agent starts one
// executor per app; it lives as long as the scheduler wants it to, and runs any number of
// tasks at once.
//
//	agent ──LAUNCH──▶ ledger (tasks that are known, updates that are not acknowledged)
//	                    │ task (package tasks): fetch (pack) ─▶ find the command ─▶ start (supervisor) ─▶ wait
//	agent ◀─UPDATE──  ledger ◀─ STARTING, RUNNING, FINISHED | FAILED | KILLED
//
// The agent is spoken to over Mesos' v1 executor API: package agent knows its types, and local.go stands for an agent
// when a package is tried. Rules X5 to X7 say what happens when the agent goes away, comes back, or doesn't know us,
// and when we die: see session.go and package supervisor.
//
// # Runs
//
// A process has two pipes to say what it will (sdk/protocol.md, package pipe). A transient task is one process and one
// run (tasks/transient.go). A daemon's shard (tasks/shard.go) stays until it is killed: package daemon decides when it
// is fired, and what becomes of a run that fails, takes too long or finds another under way; a runner makes the runs,
// by a process for each or by one that is resident (tasks/processrunner.go). A goroutine of its own drives each shard.
// Each run is reported in updates of state RUNNING; progress and health in messages that may get lost
// (tasks/reports.go).
//
// A failure in a task, such as a package that can't be fetched, fails that task
// with the reason, and nothing else. Packages, output and the time that fetching takes
// are bounded, by defaults or as arguments and environment say: see limits.go for the names.
//
// # In a pod
//
// On Kubernetes a task has a pod of its own, and the executor is the first process of its container ("executor pod",
// pod.go). Then there is no agent, and nothing is sent anywhere. A stand-in for one (podAgent) launches the one task
// and writes what must be known while it runs into the container's output, as records between what the job writes
// (wire.PodRecord): that its package is being fetched, and then no more; the runs of a daemon's shard; progress. The
// end is in the exit status and, in full, in the termination message. A signal to the first process is the kill. The
// job has the container's own streams (package output) and variables (package container); there are no output files,
// and nothing is kept for another task. A daemon's shard is drained when a file says so. The executor is its own
// supervisor (supervisor.Inside): as the first process of the container no task can kill it, and with it everything
// ends.
//
// A container can be started a second time, although its pod says Never: by a kubelet whose container runtime was
// killed in the moment of the first start. What the first one was fetching is fetched from the beginning. A task that
// it had begun is not begun again: before its process is made, a request sent or a daemon's shard fired, that is on
// disk in the pod's folder, which outlives containers (container/begun.go). The second container runs nothing, and
// says that the task may have run, as of one whose supervisor was lost. A job that removes the marker from that folder
// takes this from itself.
//
// Where an app has an image of its own, an init container of the project's image fetches and unpacks first, and leaves
// this program for the app's image (podprepare.go).
//
// # TLS and users
//
// An agent that speaks TLS is one for which LIBPROCESS_SSL_ENABLED is set: by the scheduler in the ExecutorInfo, with
// the CA's certificates in ELASTICJOB_MESOS_CA and the agent's name in ELASTICJOB_AGENT_HOSTNAME, or by the agent's
// operator in --executor_environment_variables, with the names that libprocess knows (agent/tls.go). A certificate is
// good if it is for the agent's IP or one of its names. A certificate of our own comes from the agent only.
//
// Addresses of packages are logged and reported without passwords and without their query, which may be a signature
// (pack/redact.go).
//
// Packages are cached in the agent's work folder, for each user in a folder of its own, or in the sandbox where the
// user can't write there (cache.go). Each task works in a folder of its own that shows its package (package workdir).
//
// With --run-as tasks are another user's, and the executor is root's (package isolation). The sandbox and the cache
// are root's then, and that user may pass through them and read packages; working and temporary folders are his, and
// nothing in them is touched but with his rights. Output files are root's, and he has them open for writing. An
// executor that is root without being told who tasks run as refuses them.
//
// Of an executor and its supervisor tasks see nothing below /proc. Where they are the executor's user and the
// agent is that of scheduler --local, the data folder is hidden from the executor, but for the sandbox, the
// cache and the folder of secrets, in which it does not see those of other apps, and from the tasks, but for the
// first two (HiddenFrom): what tasks put in the place of the executor's files leads it nowhere that they could
// not go themselves.
//
// An executor of --local trusts only the agent that started it, because a task can listen at the agent's port
// while the agent is down: it has that agent's authority in ELASTICJOB_MESOS_CA. Every executor is for one app,
// which its id names, and refuses tasks of other apps.
//
// # What is beyond reach
//
// Tasks run without a control group of their own. One that means harm can do to the app's other tasks on this agent,
// and without --run-as to the executor, what its user can:
//
//   - Kill the supervisor or the executor: all tasks of this executor end, with that reason if the executor lives to
//     tell it. What had left the executor's session is killed too, unless both are killed at once; what had not is the
//     agent's to kill. A stopped supervisor is continued; a stopped executor isn't.
//   - Shed the group, the session, the marker in the environment and the resource limit by which its
//     processes are known: such a process is found only when no other task of this executor runs.
//   - Take memory without bound but the container's, and as root processes, too. Others have a limit of
//     processes for each task; a task that raises it on purpose can take all that its user may have, so that
//     the executor, if it is the same user's, gets no thread. A fork bomb is killed when its task ends or is
//     killed, not before.
//   - Fill the disk while it runs. Output is cut within milliseconds, but a fast writer can be tens of
//     megabytes ahead, and more on a busy machine. What a task writes in other places isn't
//     bounded; its TMPDIR and its working folder go when it ends.
//   - Change files of the executor's user, other tasks' output and kept packages among them. Of a kept package it is
//     noticed before the next use, and the package replaced (pack/inventory.go); not, by another executor, if the
//     records of the cache were changed with it. What was put in the place of output, a pipe or a link, is removed or
//     fails the one task whose output it was to be.
package executor
