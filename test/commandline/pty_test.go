package commandline_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/elasticjob-go/elasticjob/test/buffer"
	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// screen is a terminal on which a command runs.
type screen struct {
	*user
	keys *os.File
	out  buffer.Locked
	done chan struct{} // closed when the command has ended and out is complete
	cmd  *exec.Cmd
}

// types starts a command on a terminal with 80 columns and 24 lines.
func (u *user) types(args ...string) *screen {
	u.Helper()
	keys, terminal := u.openTerminal(80, 24)
	ctx, cancel := context.WithTimeout(u.Context(), system.Patience)
	cmd := u.command(ctx, args...)
	cmd.Env = append(cmd.Env, "TERM=xterm")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := errors.Join(cmd.Start(), terminal.Close()); err != nil {
		u.Fatal(err)
	}
	s := &screen{user: u, keys: keys, done: make(chan struct{}), cmd: cmd}
	go func() {
		defer close(s.done)
		part := make([]byte, 4096)
		for {
			n, err := keys.Read(part) // fails once no process has the terminal open
			if _, _ = s.out.Write(part[:n]); err != nil {
				return
			}
		}
	}()
	u.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // fails if ends has waited for the command already
		<-s.done
		_ = keys.Close()
	})
	return s
}

// openTerminal opens a pseudo-terminal: a program runs on terminal, and keys writes and reads as its user does.
func (u *user) openTerminal(columns, lines uint16) (keys, terminal *os.File) {
	u.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		u.Fatal(err)
	}
	fd := int(keys.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = errors.Join(unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0),
			unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: lines, Col: columns}))
	}
	if err != nil {
		u.Fatal(err)
	}
	if terminal, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		u.Fatal(err)
	}
	return keys, terminal
}

// press types keys.
func (s *screen) press(keys string) {
	s.Helper()
	if _, err := s.keys.WriteString(keys); err != nil {
		s.Fatal(err)
	}
}

// shows waits until the terminal has shown a text.
func (s *screen) shows(text string) {
	s.Helper()
	s.Until("the terminal shows "+text, func() string {
		if strings.Contains(s.out.String(), text) {
			return ""
		}
		return fmt.Sprintf("it has shown %q", s.out.String())
	})
}

// ends waits until the command has ended and returns its status.
func (s *screen) ends() int {
	s.Helper()
	_ = s.cmd.Wait() // the caller checks the status instead
	<-s.done
	return s.cmd.ProcessState.ExitCode()
}

// TestTopIsLive: a run triggered elsewhere appears without a key press, q ends top, and the terminal is restored.
func TestTopIsLive(t *testing.T) {
	u := start(t)
	u.publishes("echo hello")
	u.has(u.does("top"), "elasticjob "+u.URL(), "apps 1  jobs 1", "nightly", "agents 1", "CPU")
	s := u.types("top")
	s.shows("nightly")
	s.shows("q quit")
	u.does("job", "trigger", "nightly", "--wait")
	s.shows("FINISHED")
	s.press("s")
	s.shows("s sort: duration")
	s.press("q")
	if status := s.ends(); status != 0 {
		t.Errorf("status %d", status)
	}
	shown := s.out.String()
	if opened, closed := strings.Index(shown, "\x1b[?1049h"), strings.LastIndex(shown, "\x1b[?1049l"); opened < 0 ||
		closed < opened {
		t.Errorf("the terminal does not show its normal screen again: %q", shown)
	}
}

// TestTopsKeysWorkWhileItsServerIsSilent: q ends top before the request to the server times out.
func TestTopsKeysWorkWhileItsServerIsSilent(t *testing.T) {
	t.Parallel()
	var silent atomic.Bool
	asked := make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/events" {
			<-r.Context().Done()
			return
		}
		if silent.Load() {
			asked <- struct{}{}
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, `{"rows":[]}`)
	}))
	t.Cleanup(server.Close)
	u := &user{Machine: system.New(t, bin), home: t.TempDir(), env: []string{"ELASTICJOB_SERVER=" + server.URL}}
	s := u.types("top")
	s.shows("s sort: lastRun")
	silent.Store(true)
	s.press("s")
	<-asked
	s.press("s")
	s.shows("s sort: failures")
	s.press("q")
	if status := s.ends(); status != 0 || strings.Contains(s.out.String(), "out of date") {
		t.Errorf("status %d: %q: want it to end without waiting for the server", status, s.out.String())
	}
}

// TestTopOfAServerThatIsNotThere: the error is printed on the normal screen, so that the user can read it.
func TestTopOfAServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	u := &user{Machine: system.New(t, bin), home: t.TempDir(), env: []string{"ELASTICJOB_SERVER=http://127.0.0.1:1"}}
	s := u.types("top")
	if status := s.ends(); status != 7 || !strings.Contains(s.out.String(), "no answer from") ||
		strings.Contains(s.out.String(), "\x1b[?1049h") {
		t.Errorf("status %d: %q", status, s.out.String())
	}
}

// TestColoursAreForTerminals: commands colour their output on a terminal, unless the user has disabled colours.
func TestColoursAreForTerminals(t *testing.T) {
	u := start(t)
	u.publishes("exit 3")
	u.fails(3, nil, "job", "trigger", "nightly", "--key", "k", "--wait")
	id := strings.TrimSpace(u.does("job", "trigger", "nightly", "--key", "k"))
	const failed = "\x1b[31mFAILED\x1b[0m"
	for name, want := range map[string]bool{"": true, "NO_COLOR=1": false} {
		if u.env = u.env[:1]; name != "" {
			u.env = append(u.env, name)
		}
		s := u.types("run", "show", id)
		if status := s.ends(); status != 0 || strings.Contains(s.out.String(), failed) != want ||
			!strings.Contains(s.out.String(), "FAILED") {
			t.Errorf("with %q, status %d: %q", name, status, s.out.String())
		}
	}
	if got := u.does("run", "show", id); strings.Contains(got, "\x1b") {
		t.Errorf("colours in %q", got)
	}
}
