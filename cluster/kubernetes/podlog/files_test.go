package podlog_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/podlog"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/test/eventually"
)

const stdout = "jobs/p/u/stdout"

// until waits for a condition.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	eventually.Works(t, what, func() error {
		if !condition() {
			return errors.New("the condition is not met")
		}
		return nil
	})
}

func newFiles(t *testing.T, a *apiServer, change func(*podlog.Options)) *podlog.Files {
	t.Helper()
	opt := podlog.Options{Core: a.core, Folder: t.TempDir(), Pause: time.Millisecond, Quiet: 20 * time.Millisecond}
	if change != nil {
		change(&opt)
	}
	f, err := podlog.NewFiles(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// textOf reads a whole text, page by page.
func textOf(t *testing.T, f *podlog.Files, path string) string {
	t.Helper()
	var all strings.Builder
	for {
		page, err := f.Read(t.Context(), "", path, int64(all.Len()), 7)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return all.String()
		}
		all.Write(page)
	}
}

func record(t *testing.T, s wire.Status) string {
	t.Helper()
	text, err := wire.PodRecord{Status: &s}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestOutputIsWithoutTheExecutorsRecords: the output of a job is returned unchanged without the executor's records in
// between, and offsets count the job's output only.
func TestOutputIsWithoutTheExecutorsRecords(t *testing.T) {
	t.Parallel()
	a := newAPIServer(t)
	c := a.begin("p", "u", "shard", "one\ntw"+record(t, wire.Status{Phase: wire.PhaseFetch})+"o\n\x1b[1mbold\n")
	a.end(c, 0)
	f := newFiles(t, a, nil)
	if got, want := textOf(t, f, stdout), "one\ntwo\n\x1b[1mbold\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if size, err := f.Size(t.Context(), "", stdout); size != 17 || err != nil {
		t.Errorf("%d, %v", size, err)
	}
	if opened := a.opens(); len(opened) != 1 {
		t.Errorf("the output was asked for %d times: %v", len(opened), opened)
	}
}

// TestOutputGrows: all readers of a live task share one request and see new output.
func TestOutputGrows(t *testing.T) {
	t.Parallel()
	a := newAPIServer(t)
	c := a.begin("p", "u", "shard", "one\n")
	f := newFiles(t, a, nil)
	// A text counts as read when nothing has come for a while, and on a slow machine that may be before its first byte.
	until(t, "what was there is read", func() bool { return textOf(t, f, stdout) == "one\n" })
	a.Write("jobs", c, "two\n")
	a.Write("jobs", c, "three\n")
	a.end(c, 0)
	for range 10 {
		until(t, "a reader sees the end", func() bool {
			text, err := f.Read(t.Context(), "", stdout, 4, 100)
			return err == nil && string(text) == "two\nthree\n"
		})
	}
	if opened := a.opens(); len(opened) != 1 {
		t.Errorf("the output was asked for %d times", len(opened))
	}
}

// TestOutputThatIsCut: after the connection broke, the output continues.
func TestOutputThatIsCut(t *testing.T) {
	t.Parallel()
	a := newAPIServer(t)
	c := a.begin("p", "u", "shard", "one\n")
	f := newFiles(t, a, nil)
	textOf(t, f, stdout)
	a.Cut("jobs", c)
	a.Write("jobs", c, "two\n")
	until(t, "the text behind the cut", func() bool {
		text, err := f.Read(t.Context(), "", stdout, 4, 100)
		return err == nil && string(text) == "two\n"
	})
}

// TestOutputThatIsRotated: a text that is opened again begins with the kubelet's current file, and is therefore
// shorter.
func TestOutputThatIsRotated(t *testing.T) {
	t.Parallel()
	a := newAPIServer(t)
	c := a.begin("p", "u", "shard", "before\n")
	f := newFiles(t, a, nil)
	textOf(t, f, stdout)
	a.Rotate("jobs", c, "new\n")
	a.Cut("jobs", c)
	until(t, "the new file", func() bool {
		size, err := f.Size(t.Context(), "", stdout)
		return err == nil && size == 4
	})
	if got := textOf(t, f, stdout); got != "new\n" {
		t.Errorf("%q", got)
	}
}

// TestOutputOfAnotherPodIsNotReturned: the output of another pod with the same name is not returned.
func TestOutputOfAnotherPodIsNotReturned(t *testing.T) {
	t.Parallel()
	a := newAPIServer(t)
	a.begin("p", "another", "shard", "not yours\n")
	f := newFiles(t, a, nil)
	for _, path := range []string{stdout, "jobs/none/u/stdout", "jobs/p/another/stdout.1", "jobs/p/another/../stdout",
		"/x"} {
		if text, err := f.Read(t.Context(), "", path, 0, 100); !errors.Is(err, cluster.ErrGone) || len(text) > 0 {
			t.Errorf("%s: %q, %v", path, text, err)
		}
		if _, err := f.Size(t.Context(), "", path); !errors.Is(err, cluster.ErrGone) {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{stdout, "jobs/none/u/stdout"} {
		var gone *cluster.FilesGone
		name := strings.Split(path, "/")[1]
		_, err := f.Size(t.Context(), "", path)
		if !errors.As(err, &gone) || !strings.Contains(gone.Why, "pod "+name+" in namespace jobs was deleted") ||
			!strings.Contains(gone.Why, "--keep-pods") {
			t.Errorf("%s: %v does not name the pod and the setting", path, err)
		}
	}
	if _, err := f.Size(t.Context(), "", "jobs/p/another/stderr"); !errors.Is(err, cluster.ErrOneStream) {
		t.Errorf("stderr: %v", err)
	}
}

// TestOutputOfThePackage: if the package could not be fetched, the task's output is that of the init container.
func TestOutputOfThePackage(t *testing.T) {
	t.Parallel()
	a := newAPIServer(t)
	c := a.begin("p", "u", "fetch", "no such host\n")
	f := newFiles(t, a, nil)
	if _, err := f.Size(t.Context(), "", stdout); !errors.Is(err, cluster.ErrGone) {
		t.Errorf("while it fetches: %v", err)
	}
	a.end(c, 1)
	until(t, "the output of fetch", func() bool {
		text, err := f.Read(t.Context(), "", stdout, 0, 100)
		return err == nil && string(text) == "no such host\n"
	})
}

func TestAThrottlingServerIsAskedAgain(t *testing.T) {
	t.Parallel()
	a := newAPIServer(t)
	a.end(a.begin("p", "u", "shard", "one\n"), 0)
	a.throttled = 2
	if got := textOf(t, newFiles(t, a, nil), stdout); got != "one\n" {
		t.Errorf("%q", got)
	}
}

// TestTextsAreForgotten: a text is dropped when it is not read any more, and the least recently read one when there
// are too many or too much text.
func TestTextsAreForgotten(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*podlog.Options){
		"not read":      func(o *podlog.Options) { o.Idle = time.Millisecond },
		"too many":      func(o *podlog.Options) { o.MaxTexts = 1 },
		"too much text": func(o *podlog.Options) { o.Budget = 6 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAPIServer(t)
			a.end(a.begin("p", "u", "shard", "one\n"), 0)
			a.end(a.begin("q", "v", "shard", "two\n"), 0)
			f := newFiles(t, a, func(o *podlog.Options) {
				// Both texts end, so that only the end shows that they were read completely.
				o.Quiet = time.Minute
				change(o)
			})
			until(t, "it is asked for again", func() bool {
				for _, path := range []string{stdout, "jobs/q/v/stdout"} {
					if text, err := f.Read(t.Context(), "", path, 0, 100); err != nil || len(text) != 4 {
						t.Errorf("%s: %q, %v", path, text, err)
					}
				}
				return len(a.opens()) > 2
			})
		})
	}
}

// TestATextThatIsTooLong: a read of a text that exceeds the budget returns an error that names kubectl logs.
func TestATextThatIsTooLong(t *testing.T) {
	t.Parallel()
	a := newAPIServer(t)
	a.end(a.begin("p", "u", "shard", strings.Repeat("x", 100)), 0)
	f := newFiles(t, a, func(o *podlog.Options) { o.Budget = 10 })
	if _, err := f.Read(t.Context(), "", stdout, 0, 1000); err == nil ||
		!strings.Contains(err.Error(), "kubectl logs") {
		t.Errorf("%v", err)
	}
}
