package users

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminals keeps the files of all terminals open.
var terminals sync.Map

// terminal creates a terminal. A text written to keys is typed on it. The terminal stays open until the process ends,
// because an interrupted read may still use its file descriptor.
func terminal(t *testing.T) (keys, tty *os.File) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	terminals.Store(keys, tty)
	return keys, tty
}

func echoes(t *testing.T, tty int) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(tty, unix.TCGETS)
	if err != nil {
		t.Error(err)
		return false
	}
	return state.Lflag&unix.ECHO != 0
}

// shown collects the output of a terminal. It is safe for concurrent use.
type shown struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *shown) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// await waits until the question is shown and the terminal's echo is off.
func (s *shown) await(t *testing.T, question string, tty int) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		s.mu.Lock()
		asked := strings.Contains(s.text.String(), question)
		s.mu.Unlock()
		if asked && !echoes(t, tty) {
			return
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-deadline:
			t.Errorf("the question %q is not asked, or the echo is on", question)
			return
		}
	}
}

func TestPasswordOnATerminal(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ first, again, password, refused string }{
		"the same":          {"a password", "a password", "a password", ""},
		"another one":       {"a password", "a passwort", "", "differ"},
		"nothing was typed": {"", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keys, tty := terminal(t)
			var out shown
			var typing sync.WaitGroup
			fd := int(tty.Fd())
			typing.Go(func() {
				out.await(t, "Password for ann: ", fd)
				_, _ = fmt.Fprintln(keys, test.first)
				out.await(t, "Once more: ", fd)
				_, _ = fmt.Fprintln(keys, test.again)
			})
			defer typing.Wait()
			got, err := askPassword(t.Context(), tty, &out, "ann")
			if got != test.password || (err != nil) != (test.refused != "") ||
				err != nil && !strings.Contains(err.Error(), test.refused) {
				t.Errorf("%q, %v", got, err)
			}
			if !echoes(t, fd) {
				t.Error("the terminal does not show what is typed any more")
			}
		})
	}
}

func TestPasswordInterrupted(t *testing.T) {
	t.Parallel()
	keys, tty := terminal(t)
	var out shown
	ctx, interrupt := context.WithCancel(t.Context())
	fd := int(tty.Fd())
	var typing sync.WaitGroup
	typing.Go(func() {
		out.await(t, "Password for ann: ", fd)
		interrupt()
	})
	defer typing.Wait()
	if got, err := askPassword(ctx, tty, &out, "ann"); got != "" || err == nil ||
		!strings.Contains(err.Error(), "interrupted") {
		t.Errorf("%q, %v", got, err)
	}
	if !echoes(t, fd) {
		t.Error("the terminal does not show what is typed any more")
	}
	if _, err := fmt.Fprintln(keys, "a line for the read that is still blocked"); err != nil {
		t.Fatal(err)
	}
}
