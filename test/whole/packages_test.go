package whole_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestL8PackageHostHangs: if the package's host accepts connections and never answers, the run fails with that reason
// after the timeout of the first byte. The explanation of the next run says that it waits for the host. It runs when
// the host answers.
func TestL8PackageHostHangs(t *testing.T) {
	m := start(t, "--executor-limit", "package-first-byte=500ms")
	var answers atomic.Bool
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !answers.Load() {
			<-r.Context().Done()
			return
		}
		_, _ = w.Write([]byte(script(":")))
	}))
	t.Cleanup(host.Close)
	name := strings.TrimPrefix(host.URL, "http://")
	m.App("hangs", nil, system.Doc{"appURL": host.URL + "/start.sh", "bootstrapScript": "start.sh"})
	m.Job("hangs", "hangs", nil)
	if s := m.Run("hangs", "FAILED").Shards[0]; !strings.Contains(s.FailureCause,
		"the server sent no data within 500ms") {
		t.Errorf("the cause is %q", s.FailureCause)
	}
	m.Job("often", "hangs", system.Doc{"cron": "* * * * * ?"})
	m.Until("a run waits for the URL", func() string {
		waiting := m.Explain("often").Waiting
		for _, w := range waiting {
			if strings.Contains(w.Reason, "its package can't be fetched: "+name+" has no good answer for its URL") {
				return ""
			}
		}
		return fmt.Sprintf("these wait: %+v", waiting)
	})
	answers.Store(true)
	m.Until("a run has finished", func() string {
		if n := m.Metric(`elasticjob_tasks_ended_total{result="FINISHED"}`); n == "0" {
			return "none has"
		}
		return ""
	})
}

// TestSandboxesAreBoundedAndHoldNoProgram: if an executor is started for each run, its program takes no additional
// disk space, and the number of sandboxes of ended executors is limited.
func TestSandboxesAreBoundedAndHoldNoProgram(t *testing.T) {
	const kept = 50
	m := start(t, "--executor-idle", "0")
	m.App("a", only(":"), nil)
	m.Job("j", "a", nil)
	const runs = kept + 10
	for range runs {
		m.Run("j", "FINISHED")
	}
	m.Until("no executor is left", func() string { return strings.Trim(fmt.Sprint(m.Executors()), "[]") })
	m.Until("the newest sandboxes are left", func() string {
		sandboxes := filepath.Join(m.Dir, "cluster", "work", "slaves", "*", "frameworks", "*", "executors", "a@*",
			"runs", "*")
		found, err := filepath.Glob(sandboxes)
		if err != nil {
			m.Fatal(err)
		}
		if programs, _ := filepath.Glob(filepath.Join(sandboxes, "executor")); len(programs) > 0 {
			m.Fatalf("there is %s", programs[0])
		}
		if len(found) != kept {
			return fmt.Sprintf("%d of %d are left", len(found), runs)
		}
		return ""
	})
}
