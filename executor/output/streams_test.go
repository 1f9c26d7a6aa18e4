package output

import (
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/elasticjob-go/elasticjob/executor/supervisor"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// A process can make a stream that it shares with its executor non-blocking. The executor still writes complete
// records, as soon as there is room for them.
func TestRecordInANonBlockingStream(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	o := NewStreams(write, write, t.TempDir())
	fd := int(write.Fd())
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	filled := 0
	for err == nil {
		var n int
		n, err = unix.Write(fd, []byte(strings.Repeat("x", 1000)))
		filled += max(n, 0)
	}
	recorded := make(chan error)
	go func() {
		err := o.Record(wire.PodRecord{Status: &wire.Status{Phase: wire.PhaseFetch}})
		_ = write.Close()
		recorded <- err
	}()
	all, err := io.ReadAll(read)
	if err := <-recorded; err != nil {
		t.Fatal(err)
	}
	var split wire.PodOutput
	text, records := split.Next(all)
	if err != nil || string(text) != strings.Repeat("x", filled) || len(records) != 1 {
		t.Errorf("%d bytes and %d records, want %d and 1: %v", len(text), len(records), filled, err)
	}
}

// The cause of a run's failure has the end of the output since the run began, also while its process goes on.
func TestEndOfStderr(t *testing.T) {
	t.Parallel()
	stderr, err := os.Create(t.TempDir() + "/stderr")
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	o := NewStreams(os.Stdout, stderr, t.TempDir())
	files, ended, err := o.Streams("1", &supervisor.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		if _, err := files[1].WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(since Mark, want string) {
		t.Helper()
		if got := o.Cause("1", "failed", since,
			func(text []byte) string { return strings.ReplaceAll(string(text), "secret", "***") }); got != want {
			t.Errorf("got %.200q, want %.200q", got, want)
		}
	}
	expect(Mark{}, "failed; it wrote nothing to stderr")
	write("first\n")
	second := o.Mark("1")
	expect(second, "failed; it wrote nothing to stderr")
	write("a secret\n")
	expect(second, "failed; end of stderr:\na ***")
	expect(Mark{}, "failed; end of stderr:\nfirst\na ***")
	third := o.Mark("1")
	write(strings.Repeat("x", 3*TailLength))
	expect(third, "failed; end of stderr:\n…"+strings.Repeat("x", CauseLength))
	expect(Mark{}, "failed; end of stderr:\n…"+strings.Repeat("x", CauseLength))
	CloseAll(files)
	ended()
	if len(o.pipes) != 0 {
		t.Errorf("%d pipes are kept", len(o.pipes))
	}
	passed, err := os.ReadFile(stderr.Name())
	if want := "first\na secret\n" + strings.Repeat("x", 3*TailLength); err != nil || string(passed) != want {
		t.Errorf("%d bytes were passed on, want %d: %v", len(passed), len(want), err)
	}
}
