package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	osuser "os/user"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// atOnce is how many phases run at once. At most one of them may use the CPU all the time. With three phases, for
// example those on Mesos and Kubernetes beside one that computes, two cores are so busy that sessions expire.
const atOnce = 2

// runner runs phases, each when those that it needs have passed.
type runner struct {
	root    string
	tier    tier
	user    *identity // runs the phases that do not need root; nil for the present user
	all     []phase   // all phases of the tier
	chosen  []phase   // the phases of all that must run
	state   string    // the file for results; empty for none
	commit  string    // the commit of the results
	results map[string]result

	mu sync.Mutex // guards the output
}

// identity is another user of this machine.
type identity struct {
	credential *syscall.Credential
	name, home string
}

func lookup(name string) (*identity, error) {
	found, err := osuser.Lookup(name)
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(found.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("user %s: %w", name, err)
	}
	gid, err := strconv.ParseUint(found.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("user %s: %w", name, err)
	}
	credential := &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return &identity{credential, found.Username, found.HomeDir}, nil
}

// result is how a phase ended.
type result struct {
	Outcome  outcome
	Why      string `json:",omitempty"` // why it was not run
	Seconds  float64
	CPU      float64 // CPU time of its processes, in seconds
	Passed   int     // number of tests
	Failures []failure
	Repeat   []string // the commands that repeat the failures
}

type outcome string

const (
	passed outcome = "passed"
	failed outcome = "failed"
	notRun outcome = "not run"
)

// run runs the chosen phases and prints the report. It reports whether all of them passed.
func (r *runner) run(ctx context.Context) (bool, error) {
	type end struct {
		of  phase
		res result
	}
	began := time.Now()
	waiting := slices.DeleteFunc(slices.Clone(r.chosen), func(p phase) bool {
		_, done := r.results[p.name]
		return done
	})
	running, ended := map[string]phase{}, make(chan end)
	for {
		for i := 0; i < len(waiting) && ctx.Err() == nil; {
			p := waiting[i]
			if why := r.impossible(p); why != "" {
				r.end(p, result{Outcome: notRun, Why: why})
				waiting = slices.Delete(waiting, i, i+1)
				i = 0 // other phases may need this one
				continue
			}
			if !r.canStart(p, running) {
				i++
				continue
			}
			waiting = slices.Delete(waiting, i, i+1)
			running[p.name] = p
			r.say("%s: started", p.name)
			go func() { ended <- end{p, r.do(ctx, p)} }()
		}
		if len(running) == 0 {
			break
		}
		e := <-ended
		delete(running, e.of.name)
		r.end(e.of, e.res)
		if len(waiting)+len(running) > 0 {
			r.say("running: %s; still to come: %d", strings.Join(sortedNames(running), ", "), len(waiting))
		}
		if err := r.keep(); err != nil {
			r.say("the results so far are not kept: %v", err)
		}
	}
	return r.report(time.Since(began)) && ctx.Err() == nil, ctx.Err()
}

func sortedNames(phases map[string]phase) []string { return slices.Sorted(maps.Keys(phases)) }

// impossible returns why a phase cannot be run; "" if it can.
func (r *runner) impossible(p phase) string {
	for _, name := range p.needs {
		if res, done := r.results[name]; done && res.Outcome != passed {
			return name + " has not passed"
		}
	}
	if p.root && os.Geteuid() != 0 {
		return "it needs root"
	}
	if p.missing != nil {
		return p.missing()
	}
	return ""
}

// canStart reports whether a phase may run beside those that run now, and all phases that must precede it have ended.
func (r *runner) canStart(p phase, running map[string]phase) bool {
	for _, name := range slices.Concat(p.needs, p.after) {
		_, done := r.results[name]
		if !done && slices.ContainsFunc(r.chosen, func(c phase) bool { return c.name == name }) {
			return false
		}
	}
	if len(running) >= atOnce || p.alone && len(running) > 0 {
		return false
	}
	for _, other := range running {
		if other.alone || !p.waits && !other.waits {
			return false
		}
	}
	return true
}

// do runs all commands of a phase, and continues after a failed one.
func (r *runner) do(ctx context.Context, p phase) result {
	began, res := time.Now(), result{Outcome: passed}
	for _, s := range p.steps {
		failures, n, used, err := r.step(ctx, p, s)
		res.Passed += n
		res.CPU += used.Seconds()
		if err == nil && len(failures) == 0 {
			continue
		}
		res.Outcome = failed
		if err != nil {
			r.say("%s: %v", p.name, err)
		}
		for _, f := range innermost(failures) {
			res.Failures = append(res.Failures, f)
			res.Repeat = append(res.Repeat, s.test.repeat(f))
		}
		if len(failures) == 0 {
			res.Repeat = append(res.Repeat, "go run ./test/checks -only "+p.name+" "+string(r.tier))
		}
	}
	res.Seconds = time.Since(began).Seconds()
	return res
}

// innermost omits tests that failed only because one of their subtests did.
func innermost(failures []failure) []failure {
	return slices.DeleteFunc(slices.Clone(failures), func(f failure) bool {
		return slices.ContainsFunc(failures, func(other failure) bool {
			return f.Test != "" && other.Package == f.Package && strings.HasPrefix(other.Test, f.Test+"/")
		})
	})
}

// step runs one command. It returns the failed tests, the number of tests that passed, and its CPU time. Any command
// other than go test counts as one test.
func (r *runner) step(ctx context.Context, p phase, s step) (failures []failure, n int, used time.Duration,
	err error) {
	args := s.command()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = r.root
	// Also for go commands in tests and scripts, so that everything is compiled with the same flags.
	cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -trimpath -tags="+tags))
	cmd.Env = append(cmd.Env, s.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if r.user != nil && !p.root {
		cmd.SysProcAttr.Credential = r.user.credential
		cmd.Env = append(cmd.Env, "HOME="+r.user.home, "USER="+r.user.name, "LOGNAME="+r.user.name)
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	if s.test == nil {
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil {
			return nil, 0, computed(cmd), fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out.String())
		}
		return nil, 1, computed(cmd), nil
	}
	cmd.Env = append(cmd.Env, s.test.environment(r.root)...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, 0, 0, err
	}
	if err := cmd.Start(); err != nil {
		return nil, 0, 0, fmt.Errorf("start %s: %w", args[0], err)
	}
	failures, n, unread := s.test.readEvents(out, func(text string) { r.say("%s: %s", p.name, text) })
	if err = cmp.Or(cmd.Wait(), unread); err == nil {
		return failures, n, computed(cmd), nil
	}
	var exit *exec.ExitError
	if len(failures) > 0 && errors.As(err, &exit) {
		return failures, n, computed(cmd), nil
	}
	return failures, n, computed(cmd), fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, complaints.String())
}

// computed returns the CPU time of a process that has ended, including its descendants that were waited for.
func computed(cmd *exec.Cmd) time.Duration {
	if cmd.ProcessState == nil {
		return 0
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// end records the result of a phase.
func (r *runner) end(p phase, res result) {
	r.results[p.name] = res
	switch res.Outcome {
	case notRun:
		r.say("%s: NOT RUN: %s", p.name, res.Why)
	default:
		r.say("%s: %s in %s", p.name, res.Outcome, duration(res.Seconds))
	}
}

func (r *runner) say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Printf(time.Now().Format(time.TimeOnly)+" "+format+"\n", args...)
}

func duration(seconds float64) string {
	return fmt.Sprintf("%d:%02d", int(seconds)/60, int(seconds)%60)
}
