package sdk_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/buffer"
)

// timeout is the time for which tests wait for something that an idle machine does at once.
const timeout = 45 * time.Second

// sharding is the sharding context of every process in tests.
const sharding = `{"taskId":"j@-@1@-@READY@-@a@-@u","jobName":"j","shardingTotalCount":3,"jobParameter":%q,"shardingItem":1,"shardingParameter":"own"}`

// process is a job's program, with the executor's side of the pipe.
type process struct {
	testing.TB
	cmd         *exec.Cmd
	toProcess   *os.File // the executor writes to it
	fromProcess *os.File // the executor reads from it
	lines       *bufio.Reader
	out, errors *buffer.Locked
	exited      chan struct{}
}

// start starts the process, without a pipe unless the caller has prepared one.
func (p *process) start() *process {
	p.Helper()
	if err := p.cmd.Start(); err != nil {
		p.Fatal(err)
	}
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // ProcessState says how it ended
	}()
	p.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it has usually ended
		<-p.exited
	})
	return p
}

// resident starts the process as an executor does and reads its hello.
func (p *process) resident() *process {
	p.Helper()
	p.cmd.Env = append(p.cmd.Env, "ELASTICJOB_SHARDING_CONTEXT="+fmt.Sprintf(sharding, ""))
	p.piped()
	if hello := p.receive(); hello.Type != "hello" || hello.Version != 1 || hello.SDK == "" {
		p.Fatalf("the first message is %+v", hello)
	}
	return p
}

// piped starts the process with the executor's pipe.
func (p *process) piped() *process {
	p.Helper()
	p.cmd.Env = append(p.cmd.Env, "ELASTICJOB_PIPE=3,4")
	read, toProcess := pipe(p)
	fromProcess, write := pipe(p)
	p.toProcess, p.fromProcess, p.lines = toProcess, fromProcess, bufio.NewReader(fromProcess)
	p.cmd.ExtraFiles = []*os.File{read, write}
	p.start()
	for _, end := range p.cmd.ExtraFiles {
		if err := end.Close(); err != nil {
			p.Fatal(err)
		}
	}
	return p
}

// pipe returns the ends of a new pipe, which are closed at the end of the test.
func pipe(t testing.TB) (read, write *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = read.Close(), write.Close() })
	return read, write
}

// processMessage is any message of the process.
type processMessage struct {
	Type, SDK, Run, Error, Message string
	Version                        int
	Fraction                       float64
}

// receive reads the next message.
func (p *process) receive() processMessage {
	p.Helper()
	if err := p.fromProcess.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		p.Fatal(err)
	}
	line, err := p.lines.ReadString('\n')
	if err != nil {
		p.Fatalf("read from the process: %v after %q; its stderr: %s", err, line, p.errors)
	}
	var m processMessage
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.Type == "" {
		p.Fatalf("the process sent %q: %v", line, err)
	}
	return m
}

// done reads until the end of a run. It returns the run's error and the last progress before it.
func (p *process) done(run string) (failure string, last processMessage) {
	p.Helper()
	for {
		m := p.receive()
		if m.Run != run {
			p.Fatalf("the process sent %+v, want a message of run %s", m, run)
		}
		if m.Type == "done" {
			return m.Error, last
		}
		last = m
	}
}

// send writes a text to the pipe.
func (p *process) send(text string) {
	p.Helper()
	if _, err := io.WriteString(p.toProcess, text); err != nil {
		p.Fatalf("write to the process: %v; its stderr: %s", err, p.errors)
	}
}

// run starts a run with a job parameter.
func (p *process) run(id, parameter string) {
	p.Helper()
	p.send(runLine(id, parameter))
}

// runLine returns the message that starts a run.
func runLine(id, parameter string) string {
	return fmt.Sprintf(`{"type":"run","run":%q,"fireTime":"2026-07-01T12:00:00.005Z","source":"NORMAL_TRIGGER","attempt":2,"executionId":"e","context":`+
		sharding+`,"props":{"color":"red"}}`, id, parameter) + "\n"
}

// expectBegun waits until a run reports that it has begun.
func (p *process) expectBegun(run string) {
	p.Helper()
	if m := p.receive(); m.Type != "progress" || m.Run != run || m.Message != "begun" {
		p.Fatalf("the process sent %+v, want that run %s has begun", m, run)
	}
}

// close closes the executor's ends of the pipe.
func (p *process) close(ends ...*os.File) {
	p.Helper()
	for _, end := range ends {
		if err := end.Close(); err != nil {
			p.Fatal(err)
		}
	}
}

func (p *process) signal(sig syscall.Signal) {
	p.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.Fatal(err)
	}
}

// status waits for the end of the process and returns its exit status, -1 after a signal.
func (p *process) status() int {
	p.Helper()
	select {
	case <-p.exited:
	case <-time.After(timeout):
		p.Fatalf("the process doesn't end; its stderr: %s", p.errors)
	}
	return p.cmd.ProcessState.ExitCode()
}

// expectExit checks that the process exits with a status and sends nothing more.
func (p *process) expectExit(status int) {
	p.Helper()
	if got := p.status(); got != status {
		p.Errorf("the process ended with status %d, want %d; its stderr: %s", got, status, p.errors)
	}
	if p.lines == nil {
		return
	}
	if rest, err := io.ReadAll(p.lines); len(rest) > 0 || err != nil && !errors.Is(err, os.ErrClosed) {
		p.Errorf("the process sent %q at its end, %v", rest, err)
	}
}

// expectAlive checks that the process still accepts runs, and ends it.
func (p *process) expectAlive() {
	p.Helper()
	p.run("one more", "")
	if failure, _ := p.done("one more"); failure != "" {
		p.Errorf("a run that does nothing fails: %s", failure)
	}
	p.close(p.toProcess)
	p.expectExit(0)
}

// waitForStderr waits for a text in the process's stderr.
func (p *process) waitForStderr(text string) {
	p.Helper()
	deadline := time.After(timeout)
	for !strings.Contains(p.errors.String(), text) {
		select {
		case <-deadline:
			p.Fatalf("no %q in its stderr: %s", text, p.errors)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
