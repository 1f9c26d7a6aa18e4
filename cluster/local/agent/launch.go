package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"

	"github.com/elasticjob-go/elasticjob/cluster/local/fetcher"
)

const (
	// sessionTimeout limits how long killSession waits for the end of the processes that it killed.
	sessionTimeout = 10 * time.Second
	// recoveryTimeout is how long executors try to reach their agent again.
	recoveryTimeout = 15 * time.Minute
)

// These wait statuses are reported for an executor that never ran. exited1 is that of "exit 1", which Mesos reports if
// the launch of a container fails. killedEarly is that of SIGKILL, for an executor that was killed before the fork.
const exited1, killedEarly = 1 << 8, 9

// launch creates the sandbox, fetches the programs and forks the executor, without the agent's lock. It then records
// the result. If ctx ends before the fork, the executor counts as killed.
func (a *Agent) launch(ctx context.Context, ex *executorRun) {
	w, err := a.prepareAndFork(ctx, ex)
	a.mu.Lock()
	defer a.mu.Unlock()
	defer close(ex.launched)
	if a.closed {
		// The next start finds out whether the executor was forked.
		if w != nil {
			a.writeJournal(ex, record{Kind: recForked, Proc: &w.process})
			err = errors.Join(err, w.close())
		}
		if err != nil {
			a.log.Warn("launch of an executor interrupted", "executor", ex.id, "error", err)
		}
		return
	}
	switch {
	case err == nil:
		a.executorForked(ex, w)
	case ctx.Err() != nil:
		a.executorEnded(ex, killedEarly)
	default:
		a.log.Warn("executor not launched", "executor", ex.id, "container", ex.container, "error", err)
		ex.endCause = &cause{mesos.TASK_FAILED, mesos.REASON_CONTAINER_LAUNCH_FAILED,
			"Failed to launch container: " + err.Error()}
		a.executorEnded(ex, exited1)
	}
}

// prepareAndFork does the part of launch that needs no lock. It returns the executor's process.
func (a *Agent) prepareAndFork(ctx context.Context, ex *executorRun) (*watched, error) {
	if err := a.sandboxes.create(ex.sandbox); err != nil {
		return nil, err
	}
	command := cmp.Or(ex.info.GetCommand(), &mesos.CommandInfo{})
	fetched, err := a.fetcher.Fetch(ctx, command.URIs)
	if err != nil {
		return nil, err
	}
	defer fetched.Close()
	p, err := programOf(command, fetched)
	if p.shell {
		err = fetched.Copy(ex.sandbox)
	}
	if err != nil {
		return nil, fmt.Errorf("find the command %q: %w", command.GetValue(), err)
	}
	p.env = a.environment(ex, command)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var isolate isolation
	if a.options.Isolate != nil {
		isolate = func(attr *syscall.SysProcAttr, env *[]string, start func() error) error {
			return a.options.Isolate(ex.sandbox, attr, env, start)
		}
	}
	forked, err := fork(p, ex.sandbox, a.boot, ex.mark, isolate)
	if err != nil {
		return nil, fmt.Errorf("execute %q: %w", command.GetValue(), err)
	}
	w, err := watch(forked)
	if err != nil {
		a.cleanUp(ctx, ex, forked) // an executor that cannot be watched must not be left running
	}
	return w, err
}

// executorForked records the process of a new executor and watches it. If the executor does not subscribe in time,
// executorForked destroys it.
func (a *Agent) executorForked(ex *executorRun, w *watched) {
	a.writeJournal(ex, record{Kind: recForked, Proc: &w.process})
	a.log.Info("executor started", "executor", ex.id, "container", ex.container, "pid", w.PID)
	ex.proc = w
	a.work.Go(func() { a.watchExecutor(ex, w) })
	if ex.state == terminating {
		w.kill() // its shutdown was requested during the fork
		return
	}
	timeout := a.options.RegistrationTimeout
	a.afterFunc(timeout, func() {
		if ex.state == registering {
			a.destroy(ex, cause{mesos.TASK_FAILED, mesos.REASON_EXECUTOR_REGISTRATION_TIMEOUT,
				"Executor did not register within " + mesosDuration(timeout)})
		}
	})
}

// programOf returns the program to execute. For a shell command, that is sh -c. For any other command, the value is the
// program's path, and the arguments are its argv including argv[0]. A path with a slash may name a fetched program,
// which is executed although there is no such file in the sandbox. A name without a slash is looked up in PATH.
func programOf(command *mesos.CommandInfo, fetched fetcher.Programs) (p program, err error) {
	p.path, p.argv = command.GetValue(), command.Arguments
	switch {
	case command.Shell == nil || *command.Shell:
		return program{path: "/bin/sh", argv: []string{"sh", "-c", p.path}, shell: true}, nil
	case len(p.argv) == 0:
		p.argv = []string{p.path}
	}
	if strings.Contains(p.path, "/") {
		p.file = fetched[filepath.Clean(p.path)]
		return p, nil
	}
	p.path, err = exec.LookPath(p.path)
	return p, err
}

// environment returns an executor's environment, as Mesos composes it: PATH from the agent's own environment, the
// agent's variables, then the command's, then Options.Environment. Later variables replace earlier ones. Nothing can
// therefore replace the last ones: those for authentication and TLS, and MESOS_SANDBOX.
func (a *Agent) environment(ex *executorRun, command *mesos.CommandInfo) []string {
	var env []string
	set := func(name, value string) {
		env = slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
		env = append(env, name+"="+value)
	}
	a.mu.Lock() // because each launch of a task replaces the framework's description
	o, f := &a.options, ex.framework.info
	a.mu.Unlock()
	set("PATH", cmp.Or(os.Getenv("PATH"), "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"))
	set("LIBPROCESS_IP", o.IP)
	set("LIBPROCESS_PORT", "0")
	set("MESOS_FRAMEWORK_ID", f.GetID().GetValue())
	set("MESOS_EXECUTOR_ID", ex.id)
	set("MESOS_DIRECTORY", ex.sandbox)
	set("MESOS_SLAVE_ID", a.id)
	set("MESOS_SLAVE_PID", "slave(1)@"+o.endpoint())
	set("MESOS_AGENT_ENDPOINT", o.endpoint())
	set("MESOS_HTTP_COMMAND_EXECUTOR", "0")
	set("MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD", mesosDuration(a.graceOf(ex)))
	set("MESOS_CHECKPOINT", "1") // executors of every framework outlive their agent
	set("MESOS_RECOVERY_TIMEOUT", mesosDuration(recoveryTimeout))
	set("MESOS_SUBSCRIPTION_BACKOFF_MAX", mesosDuration(o.ReregistrationTimeout))
	for _, v := range command.GetEnvironment().GetVariables() {
		if v.Secret == nil {
			set(v.Name, v.GetValue())
		}
	}
	for name, value := range o.Environment {
		set(name, value)
	}
	if key := o.ExecutorKey; len(key) > 0 {
		set("MESOS_EXECUTOR_AUTHENTICATION_TOKEN", key.Token(ex.container))
	}
	if o.Authority != "" { // these variables tell executors that the agent uses TLS
		set("LIBPROCESS_SSL_ENABLED", "true")
		set("LIBPROCESS_SSL_VERIFY_SERVER_CERT", "true")
		set("ELASTICJOB_MESOS_CA", o.Authority)
	}
	set("MESOS_SANDBOX", ex.sandbox)
	return env
}

// mesosDuration formats d in Mesos' syntax.
func mesosDuration(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("%dsecs", d/time.Second)
	}
	return fmt.Sprintf("%dms", d.Milliseconds())
}
