package supervisor

import (
	"bufio"
	"errors"
	"io"
	"os"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// reportSocket replaces the executor's end of the socket: it calls report with the first bytes of the first event.
type reportSocket struct{ report func() }

func (r *reportSocket) Read([]byte) (int, error) { return 0, io.EOF }

func (r *reportSocket) Write(data []byte) (int, error) {
	if r.report != nil {
		r.report()
		r.report = nil
	}
	return len(data), nil
}

// A start is reported after the supervisor has closed its copies of the descriptors. Otherwise the executor could
// write to a pipe whose reader has closed it, and would wait for an answer forever. The test is not parallel: a
// child that another test forks would have copies of all descriptors until it executes its program.
func TestStartIsReportedAfterDescriptorsAreClosed(t *testing.T) {
	for name, test := range map[string]struct{ path, script string }{
		"started":     {"/bin/sh", `exec 3<&-; echo hello >&4; exec sleep 1000`},
		"not started": {"/nonexistent", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var fds [4]int
			err := errors.Join(unix.Pipe2(fds[:2], unix.O_CLOEXEC), unix.Pipe2(fds[2:], unix.O_CLOEXEC))
			if err != nil {
				t.Fatal(err)
			}
			in, out := os.NewFile(uintptr(fds[1]), "in"), os.NewFile(uintptr(fds[2]), "out")
			conn, theirs, err := socketPair(unix.SOCK_SEQPACKET)
			if err != nil {
				t.Fatal(err)
			}
			null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			output := int(null.Fd())
			_, _, err = conn.WriteMsgUnix([]byte{0}, unix.UnixRights(output, output, fds[0], fds[3]), nil)
			if err = errors.Join(err, unix.Close(fds[0]), unix.Close(fds[3])); err != nil {
				t.Fatal(err)
			}
			reported := false
			s, err := newServer(&reportSocket{func() {
				reported = true
				if test.script != "" {
					if line, err := bufio.NewReader(out).ReadString('\n'); line != "hello\n" {
						t.Errorf("the process wrote %q, %v", line, err)
					}
				}
				if _, err := in.WriteString("run\n"); !errors.Is(err, syscall.EPIPE) {
					t.Errorf("writing to the pipe: %v, want EPIPE, because no process reads from it", err)
				}
			}}, int(theirs.Fd()))
			if err != nil {
				t.Fatal(err)
			}
			runtime.LockOSThread() // the process dies with the thread that forked it
			defer runtime.UnlockOSThread()
			dir := t.TempDir()
			s.start(1, &Spec{
				Path: test.path, Args: []string{"sh", "-c", test.script},
				Env: []string{"PATH=/usr/bin:/bin"}, Dir: dir,
			}, 4)
			if !reported {
				t.Error("nothing was reported")
			}
			for pid := range s.byPID {
				kill := syscall.Kill(pid, syscall.SIGKILL)
				_, err := syscall.Wait4(pid, nil, 0, nil)
				if err = errors.Join(kill, err); err != nil {
					t.Error(err)
				}
			}
			_, _, _, _, _, _ = in.Close(), out.Close(), conn.Close(), theirs.Close(), null.Close(),
				syscall.Close(s.null)
		})
	}
}
