package supervisor_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/lease"
	"github.com/elasticjob-go/elasticjob/executor/supervisor"
)

// TestX7SameSession: a task has its own process group but the executor's session.
func TestX7SameSession(t *testing.T) {
	t.Parallel()
	client, dir := launch(t), t.TempDir()
	process := start(t, client, shell(dir, "t", "echo up; exec sleep 1000"))
	content(t, filepath.Join(dir, "t.out"))
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process.PID))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after) // state ppid pgrp session
	own, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	_, ownAfter, _ := strings.Cut(string(own), ") ")
	if fields[1] != strconv.Itoa(client.PID()) || fields[2] != strconv.Itoa(process.PID) ||
		fields[3] != strings.Fields(ownAfter)[3] {
		t.Errorf("ppid, pgrp, session: %v", fields[1:4])
	}
}

// TestX7Leftovers: no process of a task is left when its end is reported. The processes of other tasks keep running.
func TestX7Leftovers(t *testing.T) {
	t.Parallel()
	client, dir := launch(t), t.TempDir()
	other := start(t, client, shell(dir, "other", `echo $$; exec sleep 1000`))
	otherChild := start(t, client, shell(dir, "other2", `setsid sh -c 'echo $$; exec sleep 1000' & sleep 1000`))
	content(t, filepath.Join(dir, "other.out"))
	unrelated := number(t, content(t, filepath.Join(dir, "other2.out")))
	for name, script := range map[string]string{
		"child":    `sh -c 'echo $$; exec sleep 1000' & while [ ! -s child.out ]; do sleep 0.01; done`,
		"setsid":   `setsid sh -c 'echo $$; exec sleep 1000' & while [ ! -s setsid.out ]; do sleep 0.01; done`,
		"daemon":   `(setsid sh -c '(trap "" TERM HUP; echo $(exec sh -c "echo \$PPID"); sleep 1000; sleep 1000) & exit' &) ; while [ ! -s daemon.out ]; do sleep 0.01; done`,
		"bare":     `setsid env -i /bin/sh -c 'cd /; echo $$; exec /bin/sleep 1000 >&2' & while [ ! -s bare.out ]; do sleep 0.01; done`,
		"exit bad": `setsid sh -c 'echo $$; exec sleep 1000' & while [ ! -s "exit bad.out" ]; do sleep 0.01; done; kill -9 $$`,
	} {
		process := start(t, client, shell(dir, name, script))
		wait(t, process)
		left := number(t, content(t, filepath.Join(dir, name+".out")))
		if alive(left) {
			t.Errorf("%s: process %d is left", name, left)
		}
		if exit, _ := process.WaitExit(); exit.Left != 1 || len(exit.LeftNames) != 1 ||
			exit.LeftNames[0] != "sleep" && exit.LeftNames[0] != "sh" {
			t.Errorf("%s: reported as left: %d %q", name, exit.Left, exit.LeftNames)
		}
	}
	if !alive(other.PID) || !alive(unrelated) || !alive(otherChild.PID) {
		t.Error("a process of another task was killed")
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	mustEnd(t, other.PID, unrelated, otherChild.PID)
}

// TestLeft: the processes that a task's main process leaves running are reported, by their names without arguments.
// They are not reported if the task was killed.
func TestLeft(t *testing.T) {
	t.Parallel()
	client, dir := launch(t), t.TempDir()
	for name, tt := range map[string]struct {
		script string
		left   int
		names  string
	}{
		"nothing":         {"exit 3", 0, ""},
		"awaited":         {"sleep 0 & wait", 0, ""},
		"two":             {"sleep 1000 & setsid sleep 1000 & while [ $(pgrep -c -P $$ sleep) -lt 2 ]; do sleep 0.01; done", 2, "sleep sleep"},
		"secret argument": {"sleep 1000 hunter2 2>&1 & sleep 1000 & while ! pgrep -P $$ sleep; do sleep 0.01; done; wait %1", 1, "sleep"},
		"many":            {"for i in 1 2 3 4 5 6 7; do sleep 1000 & done; while [ $(pgrep -c -P $$ sleep) -lt 7 ]; do sleep 0.01; done", 7, "sleep sleep sleep sleep sleep"},
	} {
		exit := wait(t, start(t, client, shell(dir, name, tt.script)))
		if exit.Left != tt.left || strings.Join(exit.LeftNames, " ") != tt.names {
			t.Errorf("%s: %d %q", name, exit.Left, exit.LeftNames)
		}
	}
	process := start(t, client, shell(dir, "killed", "sleep 1000 & echo up; wait"))
	content(t, filepath.Join(dir, "killed.out"))
	if err := process.Kill(time.Minute); err != nil {
		t.Fatal(err)
	}
	if exit := wait(t, process); exit.Left != 0 {
		t.Errorf("killed: %+v", exit)
	}
}

// TestX7MarksLost: a process that drops everything by which it is recognized is killed when no other task is left.
func TestX7MarksLost(t *testing.T) {
	t.Parallel()
	client, dir := launch(t), t.TempDir()
	process := start(t, client, shell(dir, "t",
		`setsid env -i prlimit --rttime=unlimited /bin/sh -c 'echo $$; exec /bin/sleep 1000' & while [ ! -s t.out ]; do sleep 0.01; done`))
	wait(t, process)
	mustEnd(t, number(t, content(t, filepath.Join(dir, "t.out"))))
}

// TestAsRootExclusiveTaskIsEndedWhole: with a lease, a process that drops everything by which it is recognized ends
// with its task, although another task goes on: it can't leave the task's cgroup.
func TestAsRootExclusiveTaskIsEndedWhole(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("this needs root: make ci ONLY=root runs it")
	}
	client, dir := launch(t), t.TempDir()
	other := start(t, client, shell(dir, "other", "exec sleep 1000"))
	spec := shell(dir, "t", `setsid env -i prlimit --rttime=unlimited /bin/sh -c 'echo $$; trap "" TERM; exec /bin/sleep 1000' &
while [ ! -s t.out ]; do sleep 0.01; done; `+"echo up >&2; exec sleep 1000")
	spec.Until = lease.Now() + time.Minute
	process := start(t, client, spec)
	content(t, filepath.Join(dir, "t.err"))
	if err := process.Kill(0); err != nil {
		t.Fatal(err)
	}
	wait(t, process)
	if child := number(t, content(t, filepath.Join(dir, "t.out"))); alive(child) {
		t.Error("a process of the task is left")
	}
	if !alive(other.PID) {
		t.Error("another task was hit")
	}
}

// TestX7SupervisorStopped: a supervisor that a task has stopped is continued.
func TestX7SupervisorStopped(t *testing.T) {
	t.Parallel()
	client, dir := launch(t), t.TempDir()
	for range 10 {
		if exit := wait(t, start(t, client, shell(dir, "t", "kill -STOP $PPID; exit 4"))); exit.Status != 4 {
			t.Errorf("%+v", exit)
		}
	}
}

// TestX7SupervisorKilled: tasks end with the supervisor even if it is killed.
func TestX7SupervisorKilled(t *testing.T) {
	t.Parallel()
	client, dir := launch(t), t.TempDir()
	process := start(t, client, shell(dir, "t", `echo up; exec sleep 1000`))
	content(t, filepath.Join(dir, "t.out"))
	if err := syscall.Kill(client.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	mustEnd(t, process.PID) // the client may have noticed the end of the supervisor, or not
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Start(shell(dir, "t1", ""), null); !errors.Is(err, supervisor.ErrLost) {
		t.Errorf("with a file: got %v", err)
	}
	<-process.Done()
	if _, ok := process.WaitExit(); ok {
		t.Error("an exit was reported, although the supervisor was lost")
	}
	<-client.Lost()
	if _, err := client.Start(shell(dir, "t2", "")); !errors.Is(err, supervisor.ErrLost) {
		t.Errorf("got %v", err)
	}
}

// running counts the processes that run the script.
func running(script string) (n int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), script) {
			n++
		}
	}
	return n
}

// TestForkChains: a task that forks forever is killed with all of its processes, and its end is reported when none of
// them is left. Meanwhile other tasks continue. Each of its twenty chains is one process at a time, whose parent has
// ended, and starts a thousand processes per second.
func TestForkChains(t *testing.T) {
	for name, setsid := range map[string]string{"in the group": "", "in other sessions": "setsid"} {
		t.Run(name, func(t *testing.T) {
			client, dir := launch(t), t.TempDir()
			script := "chain-" + dir
			other := start(t, client, shell(dir, "other", "exec sleep 1000"))
			process := start(t, client, shell(dir, "chains",
				fmt.Sprintf("i=0; while [ $i -lt 20 ]; do %s sh -c 'f() { f & }; f' %s & i=$((i+1)); done; echo up; exec sleep 1000", setsid, script)))
			content(t, filepath.Join(dir, "chains.out"))
			for range 20 {
				wait(t, start(t, client, shell(dir, "quick", "exit 0"))) // the supervisor still serves other tasks
			}
			if err := process.Kill(50 * time.Millisecond); err != nil {
				t.Fatal(err)
			}
			wait(t, process)
			if n := running(script); n > 0 {
				t.Errorf("%d processes are left", n)
			}
			if !alive(other.PID) {
				t.Error("a process of another task was killed")
			}
			if err := client.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
