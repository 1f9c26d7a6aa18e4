package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// family tracks all descendants of this process. A descendant whose parent dies becomes a child of this process, so
// that none can escape, whatever happens to the server.
type family struct {
	mu     sync.Mutex // prevents reaping while a process is being started
	server int        // the server's process id; exec.Cmd waits for this process

	signals chan os.Signal
	done    sync.WaitGroup
}

// adopt makes this process the parent of all its orphaned descendants.
func adopt() (*family, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("become the parent of orphans: %w", err)
	}
	f := &family{signals: make(chan os.Signal, 1)}
	signal.Notify(f.signals, syscall.SIGCHLD)
	f.done.Go(func() {
		for range f.signals {
			f.reap()
		}
	})
	return f, nil
}

func (f *family) stop() {
	signal.Stop(f.signals)
	close(f.signals)
	f.done.Wait()
}

// start starts the server.
func (f *family) start(cmd *exec.Cmd) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	f.server = cmd.Process.Pid
	return nil
}

// reap reaps adopted children that have ended.
func (f *family) reap() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range processes() {
		if p.parent == os.Getpid() && p.isZombie && p.id != f.server {
			_, _ = syscall.Wait4(p.id, nil, syscall.WNOHANG, nil)
		}
	}
}

// killAll kills all remaining processes and returns their number.
func (f *family) killAll() (int, error) {
	killed := map[int]bool{}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		f.reap()
		alive := descendants(processes(), os.Getpid())
		if len(alive) == 0 {
			return len(killed), nil
		}
		if time.Now().After(deadline) {
			return len(killed), fmt.Errorf("processes %v can't be killed", alive)
		}
		for _, id := range alive {
			killed[id] = true
			_ = syscall.Kill(id, syscall.SIGKILL)
		}
	}
}

type process struct {
	id, parent int
	isZombie   bool
}

// processes lists the processes of this machine.
func processes() []process {
	entries, _ := os.ReadDir("/proc")
	var list []process
	for _, entry := range entries {
		id, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if err != nil {
			continue // it has ended
		}
		// The name, in parentheses, may contain any character, so the fields are counted from its end.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) < 2 {
			continue
		}
		parent, err := strconv.Atoi(fields[1])
		if err == nil {
			list = append(list, process{id: id, parent: parent, isZombie: fields[0] == "Z"})
		}
	}
	return list
}

// descendants returns the running processes below root.
func descendants(list []process, root int) []int {
	var found []int
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		for _, p := range list {
			if p.parent == queue[0] {
				queue = append(queue, p.id)
				if !p.isZombie {
					found = append(found, p.id)
				}
			}
		}
	}
	return found
}
