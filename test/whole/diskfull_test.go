package whole_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestDiskFull: a task fills the disk on which the data folder is, and fails with that reason. The server keeps
// running, and no other job loses a fire: the fires run while the disk is full, or as soon as there is space. Only
// root can mount a small disk (TestAsRootDiskFull). For other users a limit on the size of the task's files takes the
// disk's place.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		diskFull(t)
	}
}

// TestAsRootDiskFull is TestDiskFull with a small disk.
func TestAsRootDiskFull(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("this needs root: make ci ONLY=root runs it")
	}
	diskFull(t)
}

func diskFull(t *testing.T) {
	dir, limit := t.TempDir(), ""
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256m"); err != nil {
		if os.Geteuid() == 0 {
			t.Fatalf("root can mount no file system here: %v", err)
		}
		t.Logf("no file system can be mounted here (%v): files are limited instead", err)
		limit = "ulimit -f 100000; trap '' XFSZ; "
	} else {
		t.Cleanup(func() {
			if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
	}
	m := system.New(t, bin)
	m.Dir = dir
	m.Start()
	hold, release := m.Hold()
	m.App("hog", only(limit+`head -c 300000000 /dev/zero >"$TMPDIR/x"; while [ -e "$HOLD" ]; do sleep 0.05; done
echo "File too large or no space left on device" >&2; exit 1`), nil)
	m.App("good", writes, nil)
	m.Job("hog", "hog", system.Doc{"env": env("HOLD", hold)})
	m.Job("good", "good", system.Doc{"misfire": true, "cron": "* * * * * ?"})
	m.Until("the good job runs", func() string {
		if len(m.Ledger()) == 0 {
			return "it has not begun"
		}
		return ""
	})
	id := m.Trigger("hog")
	began := time.Now()
	m.Until("fires while the disk is full", func() string {
		m.OK("GET", "/readyz", "")
		m.Execution(id)
		if time.Since(began) < 5*time.Second {
			return "it is not full for long enough"
		}
		return ""
	})
	release()
	if e := m.Await(id, "FAILED"); !strings.Contains(strings.ToLower(e.Shards[0].FailureCause), "space") &&
		!strings.Contains(e.Shards[0].FailureCause, "disk is full") {
		t.Errorf("the task that filled the disk: %+v", e)
	}
	m.Until("all fires have run", func() string {
		x := m.Explain("good")
		if ended := m.LastFire("good"); time.Since(ended) > 3*time.Second || len(x.Waiting) > 0 {
			return "the last was at " + ended.String()
		}
		return ""
	})
	m.OnceEach()
	for _, series := range []string{"elasticjob_fires_dropped_total", "elasticjob_fires_missed_total",
		`elasticjob_tasks_ended_total{result="LOST"}`} {
		if n := m.Metric(series); n != "0" {
			t.Errorf("%s is %s, want 0", series, n)
		}
	}
	m.Stop()
	m.NothingRuns()
}
