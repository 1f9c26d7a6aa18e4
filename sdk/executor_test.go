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

// patience is how long tests wait for something that an idle machine does at once.
const patience = 45 * time.Second

// sharding is the sharding context of every process in tests.
const sharding = `{"taskId":"j@-@1@-@READY@-@a@-@u","jobName":"j","shardingTotalCount":3,"jobParameter":%q,"shardingItem":1,"shardingParameter":"own"}`

// process is a job's program, with the executor's side of the pipe.
type process struct {
	testing.TB
	cmd         *exec.Cmd
	orders      *os.File // the executor writes to it
	said        *os.File // the executor reads from it
	lines       *bufio.Reader
	out, errors *buffer.Locked
	over        chan struct{}
}

func (p *process) start() *process {
	p.Helper()
	if err := p.cmd.Start(); err != nil {
		p.Fatal(err)
	}
	go func() {
		defer close(p.over)
		_ = p.cmd.Wait() // its state says how it ended
	}()
	p.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it has usually ended
		<-p.over
	})
	return p
}

// resident starts the process as an executor does and reads its hello.
func (p *process) resident() *process {
	p.Helper()
	p.cmd.Env = append(p.cmd.Env, "ELASTICJOB_SHARDING_CONTEXT="+fmt.Sprintf(sharding, ""))
	p.piped()
	if hello := p.hear(); hello.Type != "hello" || hello.Version != 1 || hello.SDK == "" {
		p.Fatalf("the first message is %+v", hello)
	}
	return p
}

// piped starts the process with the executor's pipe.
func (p *process) piped() *process {
	p.Helper()
	p.cmd.Env = append(p.cmd.Env, "ELASTICJOB_PIPE=3,4")
	read, orders := pipe(p)
	said, write := pipe(p)
	p.orders, p.said, p.lines = orders, said, bufio.NewReader(said)
	p.cmd.ExtraFiles = []*os.File{read, write}
	p.start()
	for _, theirs := range p.cmd.ExtraFiles {
		if err := theirs.Close(); err != nil {
			p.Fatal(err)
		}
	}
	return p
}

func pipe(t testing.TB) (read, write *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = read.Close(), write.Close() })
	return read, write
}

// message is any message of the process.
type message struct {
	Type, SDK, Run, Error, Message string
	Version                        int
	Fraction                       float64
}

// hear reads the next message.
func (p *process) hear() message {
	p.Helper()
	if err := p.said.SetReadDeadline(time.Now().Add(patience)); err != nil {
		p.Fatal(err)
	}
	line, err := p.lines.ReadString('\n')
	if err != nil {
		p.Fatalf("read from the process: %v after %q; its stderr: %s", err, line, p.errors)
	}
	var m message
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.Type == "" {
		p.Fatalf("the process said %q: %v", line, err)
	}
	return m
}

// done reads until the end of a run and returns its error and the last progress before it.
func (p *process) done(run string) (failure string, last message) {
	p.Helper()
	for {
		m := p.hear()
		if m.Run != run {
			p.Fatalf("the process said %+v, want something of run %s", m, run)
		}
		if m.Type == "done" {
			return m.Error, last
		}
		last = m
	}
}

// say writes bytes.
func (p *process) say(text string) {
	p.Helper()
	if _, err := io.WriteString(p.orders, text); err != nil {
		p.Fatalf("write to the process: %v; its stderr: %s", err, p.errors)
	}
}

// run starts a run with a job parameter.
func (p *process) run(id, parameter string) {
	p.Helper()
	p.say(runLine(id, parameter))
}

func runLine(id, parameter string) string {
	return fmt.Sprintf(`{"type":"run","run":%q,"fireTime":"2026-07-01T12:00:00.005Z","source":"NORMAL_TRIGGER","attempt":2,"executionId":"e","context":`+
		sharding+`,"props":{"color":"red"}}`, id, parameter) + "\n"
}

// begun waits until a run reports that it has begun.
func (p *process) begun(run string) {
	p.Helper()
	if m := p.hear(); m.Type != "progress" || m.Run != run || m.Message != "begun" {
		p.Fatalf("the process said %+v, want that run %s has begun", m, run)
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
	case <-p.over:
	case <-time.After(patience):
		p.Fatalf("the process doesn't end; its stderr: %s", p.errors)
	}
	return p.cmd.ProcessState.ExitCode()
}

// ends checks that the process exits with a status and sends nothing more.
func (p *process) ends(status int) {
	p.Helper()
	if got := p.status(); got != status {
		p.Errorf("the process ended with status %d, want %d; its stderr: %s", got, status, p.errors)
	}
	if p.lines == nil {
		return
	}
	if rest, err := io.ReadAll(p.lines); len(rest) > 0 || err != nil && !errors.Is(err, os.ErrClosed) {
		p.Errorf("the process said %q at its end, %v", rest, err)
	}
}

// lives checks that the process still accepts runs.
func (p *process) lives() {
	p.Helper()
	p.run("one more", "")
	if failure, _ := p.done("one more"); failure != "" {
		p.Errorf("a run that does nothing fails: %s", failure)
	}
	p.close(p.orders)
	p.ends(0)
}

// until waits for a text in the process's stderr.
func (p *process) until(text string) {
	p.Helper()
	deadline := time.After(patience)
	for !strings.Contains(p.errors.String(), text) {
		select {
		case <-deadline:
			p.Fatalf("no %q in its stderr: %s", text, p.errors)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
