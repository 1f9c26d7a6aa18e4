package starts

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"
)

// TestStartsAreHeld: launches are held back only because of how the previous starts ended.
func TestStartsAreHeld(t *testing.T) {
	t.Parallel()
	const limit, near, far = 1000 << 20, 900 << 20, 10 << 20
	const ( // how a start ends
		killed  = iota
		stopped // as requested
		failed
		settled // killed after a minute
	)
	type start struct {
		limit, uses int64
		ends        int
		held        bool
	}
	bad := start{limit, near, killed, false}
	good := start{limit, far, stopped, false}
	held := start{limit, far, stopped, true}
	spared := start{limit, limit * 8 / 10, killed, false}
	unlimited := start{0, near, killed, false}
	for name, starts := range map[string][]start{
		"killed twice near the limit":                {bad, bad, held, good},
		"killed once":                                {bad, good, bad, good},
		"killed with memory to spare":                {spared, spared, good},
		"killed for another reason, then for memory": {{limit, far, killed, false}, bad, held},
		"without a limit":                            {unlimited, unlimited, good},
		"killed while it is held":                    {bad, bad, {limit, far, killed, true}, bad, held},
		"the limit is raised, and it still fails":    {bad, bad, {2 * limit, far, stopped, true}, {2 * limit, 2 * near, killed, false}},
		"it fails while it is held":                  {bad, bad, {limit, far, failed, true}, {limit, near, failed, true}, held, good},
		"it fails between two that are killed":       {bad, {limit, far, failed, false}, bad, held},
		"it settles":                                 {bad, {limit, near, settled, false}, bad, good},
		"it settles while it is held":                {bad, bad, {limit, near, settled, true}, good},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				for i, start := range starts {
					m := memory{used: func() int64 { return start.uses }, limit: func() int64 { return start.limit }}
					s, held := open(dir, m, slog.New(slog.DiscardHandler))
					if (held != "") != start.held || start.held && !strings.Contains(held, "MiB of memory in use") {
						t.Errorf("start %d: held %q", i, held)
					}
					switch start.ends {
					case settled:
						time.Sleep(SettledAfter)
						synctest.Wait()
						s.stop()
					case killed:
						s.stop()
					default:
						s.End(start.ends == failed)
					}
				}
			})
		})
	}
}

// TestStartsAreNoReasonToFail: a record that cannot be read or written is only logged.
func TestStartsAreNoReasonToFail(t *testing.T) {
	t.Parallel()
	m := memory{used: func() int64 { return 1 }, limit: func() int64 { return 1 }}
	for name, at := range map[string]func(dir string) string{
		"damaged": func(dir string) string {
			_ = os.WriteFile(filepath.Join(dir, "starts.json"), []byte(`{"crashes":9,"open":true,"mem`), 0o600)
			return dir
		},
		"no folder": func(dir string) string { return filepath.Join(dir, "none") },
	} {
		var log bytes.Buffer
		s, held := open(at(t.TempDir()), m, slog.New(slog.NewTextHandler(&log, nil)))
		s.End(false)
		if held != "" || strings.Count(log.String(), "level=WARN") != 1 {
			t.Errorf("%s: held %q, log %s", name, held, log.String())
		}
	}
}

func TestCgroupLimit(t *testing.T) {
	t.Parallel()
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text + "\n")} }
	for name, c := range map[string]struct {
		own  string
		fs   fstest.MapFS
		want int64
	}{
		"version 2, the least of all above": {"0::/a/b\n", fstest.MapFS{"a/b/memory.max": file("max"), "a/memory.max": file("500"), "memory.max": file("900")}, 500},
		"version 2, in a namespace":         {"0::/\n", fstest.MapFS{"memory.max": file("900")}, 900},
		"version 2, without a limit":        {"0::/a\n", fstest.MapFS{"a/memory.max": file("max")}, 0},
		"version 1":                         {"5:cpu,cpuacct:/x\n3:memory:/a\n", fstest.MapFS{"memory/a/memory.limit_in_bytes": file("700")}, 700},
		"version 1, without a limit":        {"3:memory:/a\n", fstest.MapFS{"memory/a/memory.limit_in_bytes": file("9223372036854771712")}, 0},
		"a parent that is not mounted":      {"0::/../x\n", fstest.MapFS{"memory.max": file("900")}, 900},
		"none":                              {"", fstest.MapFS{}, 0},
	} {
		if got := cgroupLimit(c.fs, c.own); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if m := ownMemory(); m.used() < 1<<20 || m.limit() < 0 {
		t.Errorf("this process: %d of %d", m.used(), m.limit())
	}
}
