package history_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
	"github.com/elasticjob-go/elasticjob/test/mariadb"
)

// TestDatabaseKilledUnderLoad: no row is lost or duplicated whenever the database is killed, and scheduling goes on
// without the database.
func TestDatabaseKilledUnderLoad(t *testing.T) {
	t.Parallel()
	s := mariadb.Start(t)
	dsn := s.Database(t)
	m := system.New(t, bin, "--db", dsn)
	h := look(t, m, s, dsn)
	m.Start()
	rest := load(m, 5, 4)
	for range 3 {
		awaitRuns(m, 30)
		s.Kill()
		awaitRuns(m, 30)
		if w := m.OK("GET", "/readyz", ""); !strings.Contains(w, "warning") {
			m.Until("the server warns of its database", func() string {
				if w := m.OK("GET", "/readyz", ""); !strings.Contains(w,
					"the history's database can't be written to") {
					return w
				}
				return ""
			})
		}
		s.Restart(t)
	}
	rest()
	h.awaitComplete()
	noneLost(m)
	m.Stop()
	m.NothingRuns()
}

// TestWrongPasswordAndReadOnlyUser: rows wait until the user fixes the database, and the log and health say what is
// wrong, without the password.
func TestWrongPasswordAndReadOnlyUser(t *testing.T) {
	t.Parallel()
	s := mariadb.Start(t)
	dsn := s.Database(t)
	name := dsn[strings.LastIndexByte(dsn, '/')+1:]
	m := system.New(t, bin, "--db", s.DSN("late", "right-secret", name))
	h := look(t, m, s, dsn)
	do := func(statement string) {
		t.Helper()
		if _, err := h.db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	do("CREATE USER late IDENTIFIED BY 'other-secret'")
	do("GRANT SELECT ON " + name + ".* TO late")
	m.Start()
	rest := load(m, 2, 2)
	awaitWarning := func(text string) {
		t.Helper()
		m.Until("the server says "+text, func() string {
			if w := m.OK("GET", "/readyz", ""); !strings.Contains(w, text) {
				return w
			}
			return ""
		})
	}
	awaitRuns(m, 4)
	awaitWarning("Access denied for user 'late'")
	do("ALTER USER late IDENTIFIED BY 'right-secret'")
	awaitWarning("command denied")
	awaitRuns(m, 4)
	do("GRANT ALL ON " + name + ".* TO late")
	rest()
	h.awaitComplete()
	noneLost(m)
	if strings.Contains(m.ServerLog(), "-secret") || strings.Contains(m.OK("GET", "/healthz", ""), "-secret") {
		t.Error("the password was shown")
	}
	m.Stop()
}

// TestServerKilledWithRowsInOutbox: the next start writes the rows that were on disk when the server was killed.
func TestServerKilledWithRowsInOutbox(t *testing.T) {
	t.Parallel()
	s := mariadb.Start(t)
	dsn := s.Database(t)
	m := system.New(t, bin, "--db", dsn)
	h := look(t, m, s, dsn)
	m.Start()
	rest := load(m, 3, 3)
	awaitRuns(m, 9)
	s.Kill()
	for range 3 {
		awaitRuns(m, 18)
		m.Kill()
		m.Start()
	}
	awaitRuns(m, 9)
	s.Restart(t)
	rest()
	h.awaitComplete()
	noneLost(m)
	m.Stop()
	m.NothingRuns()
}

// TestAsRootOutboxDiskFull: scheduling continues with a warning, the loss is counted and shown, and rows are recorded
// again once the database is back.
func TestAsRootOutboxDiskFull(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("this needs root: make ci ONLY=root runs it")
	}
	s := mariadb.Start(t)
	dsn := s.Database(t)
	m := system.New(t, bin, "--db", dsn)
	h := look(t, m, s, dsn)
	dir := filepath.Join(m.Dir, "outbox")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatalf("root can mount no file system here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	s.Kill()
	m.Start()
	rest := load(m, 5, 4)
	lost := `elasticjob_history_rows_lost_total{cause="outbox_failed"}`
	m.Until("the disk is full", func() string {
		if m.Metric(lost) == "0" {
			return fmt.Sprintf("%s rows wait in %s bytes", m.Metric("elasticjob_history_backlog_rows"),
				m.Metric("elasticjob_history_backlog_bytes"))
		}
		return ""
	})
	awaitRuns(m, 40)
	if w := m.OK("GET", "/readyz", ""); !strings.Contains(w, "rows of the history and") {
		t.Errorf("the server does not warn: %s", w)
	}
	if !strings.Contains(m.ServerLog(), "history rows lost") {
		t.Error("the log does not say that rows were lost")
	}
	s.Restart(t)
	m.Until("the outbox is empty", func() string {
		if n := m.Metric("elasticjob_history_backlog_rows"); n != "0" {
			return n + " rows wait"
		}
		return ""
	})
	before := m.Metric(lost)
	rest()
	id := m.Trigger("job_0")
	m.Await(id, "FINISHED")
	m.Until("a later run is in the database", func() string {
		if got, err := h.query("SELECT state FROM $JOB_EXECUTION WHERE id = '" + id + "'"); err != nil ||
			len(got) != 1 || got[0] != "FINISHED" {
			return fmt.Sprint(got, err)
		}
		return ""
	})
	if after := m.Metric(lost); after != before {
		t.Errorf("%s rows were lost before the database came back, %s now", before, after)
	}
	m.OnceEach()
	m.Stop()
	m.NothingRuns()
}
