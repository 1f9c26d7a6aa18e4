package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// server is a running scheduler --local with a data folder of its own.
type server struct {
	cmd  *exec.Cmd
	dir  string
	url  string
	done chan error
}

// startServer starts a server and waits until it is ready.
func startServer(ctx context.Context, bin, dir string) (*server, error) {
	s := &server{dir: dir, done: make(chan error, 1)}
	s.cmd = exec.CommandContext(ctx, filepath.Join(bin, "scheduler"), "--local", "--listen", "127.0.0.1:0",
		"--data-dir", filepath.Join(dir, "data"), "--local-cpus", "1000", "--local-memory", "1000000", "--log-level",
		"error")
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	s.cmd.Stderr = os.Stderr
	if os.Geteuid() == 0 {
		s.cmd.Env = append(os.Environ(), "ELASTICJOB_RUN_AS=root")
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the server (make build first): %w", err)
	}
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil {
		return nil, errors.Join(errors.New("the server ended before it printed its address"), s.cmd.Wait())
	}
	go func() {
		_, _ = io.Copy(io.Discard, lines)
		s.done <- s.cmd.Wait()
	}()
	s.url = regexp.MustCompile(`http://[0-9.:]+`).FindString(line)
	for {
		resp, err := http.Get(s.url + "/readyz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return s, nil
			}
		}
		select {
		case err := <-s.done:
			return nil, fmt.Errorf("the server ended: %w", err)
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// stop ends the server and everything that it runs.
func (s *server) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return <-s.done
}

func (s *server) post(path string, body any) error {
	var data []byte
	var err error
	if body != nil {
		data, err = json.Marshal(body)
	}
	if err != nil {
		return err
	}
	resp, err := http.Post(s.url+path, "application/json", bytes.NewReader(data))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", path, resp.Status, answer)
	}
	return nil
}

func (s *server) get(path string, into any) error {
	resp, err := http.Get(s.url + path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

func (s *server) app(name, script string) error {
	file := filepath.Join(s.dir, name+".tar")
	if err := writeTar(file, "run", script); err != nil {
		return err
	}
	return s.post("/api/app", map[string]any{"appName": name, "appURL": "file://" + file, "bootstrapScript": "run",
		"cpuCount": 0.1, "memoryMB": 64})
}

func (s *server) job(name, app, cron string, shards int) error {
	return s.post("/api/job/register", map[string]any{"jobName": name, "appName": app, "jobExecutionType": "TRANSIENT",
		"cron":               cron,
		"shardingTotalCount": shards, "cpuCount": 0.01, "memoryMB": 1})
}

// metric reads a series of /metrics.
func (s *server) metric(name string) (float64, error) {
	resp, err := http.Get(s.url + "/metrics")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	for in := bufio.NewScanner(resp.Body); in.Scan(); {
		if value, ok := strings.CutPrefix(in.Text(), name+" "); ok {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("no metric %s", name)
}

// writeTar writes an archive with one script.
func writeTar(path, name, script string) error {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(script))}); err != nil {
		return err
	}
	if _, err := io.WriteString(w, script); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o600)
}

// usage is what a process has used so far.
type usage struct {
	cpu    time.Duration // without the time of children
	reaped time.Duration // CPU time of children that have ended and were waited for
	rss    int64         // resident memory now, in bytes
}

const clockTick = 10 * time.Millisecond // USER_HZ is 100 on Linux

func usageOf(pid int) (usage, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return usage{}, err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	number := func(field int) int64 {
		n, _ := strconv.ParseInt(fields[field], 10, 64)
		return n
	}
	ticks := func(n int64) time.Duration { return time.Duration(n) * clockTick }
	return usage{cpu: ticks(number(11) + number(12)), reaped: ticks(number(13) + number(14)),
		rss: number(21) * int64(os.Getpagesize())}, nil
}

// executors returns the process ids of the server's executors and of their supervisors. The command line of a
// supervisor names the server's data folder, and its parent is the executor.
func (s *server) executors() []int {
	var pids []int
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range paths {
		line, err := os.ReadFile(p)
		if err != nil || !bytes.HasPrefix(line, []byte("executor\x00supervisor\x00"+filepath.Join(s.dir, "data"))) {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(filepath.Dir(p), "stat"))
		if err != nil {
			continue // it has ended
		}
		var state string
		var parent int
		_, _ = fmt.Sscan(string(stat[bytes.LastIndexByte(stat, ')')+1:]), &state, &parent)
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(p))); err == nil {
			pids = append(pids, parent, pid)
		}
	}
	return pids
}

func withServer(ctx context.Context, bin string, f func(*server) error) (err error) {
	dir, err := os.MkdirTemp("", "elasticjob-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := startServer(ctx, bin, dir)
	if err != nil {
		return err
	}
	return errors.Join(f(s), s.stop())
}
