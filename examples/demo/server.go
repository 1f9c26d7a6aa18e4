package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// server is the scheduler's process. Its methods must be called from one goroutine.
type server struct {
	program, dataDir, listen string
	family                   *family

	cmd    *exec.Cmd
	exited chan struct{} // closed when cmd has ended
	err    error         // the error of cmd, valid once exited is closed
}

func (s *server) logFile() string { return filepath.Join(s.dataDir, "server.log") }

// start starts the process in a process group of its own, so that Ctrl-C in the terminal reaches only the demo, which
// then stops the server. If the demo is killed, the server receives SIGTERM.
func (s *server) start() error {
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the server's log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(s.program, "--local", "--listen", s.listen, "--data-dir", s.dataDir)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := s.family.start(cmd); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	s.cmd, s.exited = cmd, make(chan struct{})
	go func(exited chan struct{}) {
		s.err = cmd.Wait()
		close(exited)
	}(s.exited)
	return nil
}

// awaitReady returns once the server is ready. It fails if the server ends, or is not ready within a minute.
func (s *server) awaitReady(ctx context.Context, api *client) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := api.call(ctx, "GET", "/readyz", "", nil)
		if err == nil {
			return nil
		}
		select {
		case <-s.exited:
			return s.explain("the server ended")
		case <-ctx.Done():
			return errors.Join(s.explain("the server doesn't get ready"), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// killed reports whether the process was ended by SIGKILL.
func (s *server) killed() bool {
	var exit *exec.ExitError
	if !errors.As(s.err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// stop ends the server with everything that it runs, if the server has not ended before. It returns when the server
// has ended, or when hurry ends, and fails after a minute. The caller then kills the server.
func (s *server) stop(hurry context.Context) error {
	select {
	case <-s.exited:
		return nil // watch or awaitReady has returned the reason, or the server was killed
	default:
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the server: %w", err)
	}
	select {
	case <-s.exited:
		if s.err != nil {
			return s.explain(fmt.Sprintf("the server ended with %v", s.err))
		}
		return nil
	case <-hurry.Done():
		return nil
	case <-time.After(time.Minute):
		return s.explain("the server has not stopped within a minute")
	}
}

// explain returns an error with the end of the server's log.
func (s *server) explain(what string) error {
	text, err := os.ReadFile(s.logFile())
	if err != nil {
		return errors.New(what)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return fmt.Errorf("%s; the end of its log:\n  %s", what, strings.Join(lines[max(0, len(lines)-8):], "\n  "))
}
