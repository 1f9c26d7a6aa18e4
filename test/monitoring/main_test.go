package monitoring_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

const root = "../.."

var bin system.Binaries

func TestMain(m *testing.M) { os.Exit(system.Main(m, &bin, 4)) }

// tool returns the path of a program of Debian's package prometheus.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("this test needs %s: apt-get install prometheus", name)
	}
	return path
}

// promtool runs promtool, which must not report any problem.
func promtool(t *testing.T, stdin string, args ...string) {
	t.Helper()
	cmd := exec.Command(tool(t, "promtool"), args...)
	cmd.Stdin = strings.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "FAILED") {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// dashboard is the part of Grafana's model that is checked.
type dashboard struct {
	Title      string
	UID        string
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
	Panels []struct {
		ID          int
		Type, Title string
		Datasource  struct{ Type, UID string }
		GridPos     struct{ H, W, X, Y int }
		Targets     []struct {
			RefID      string
			Expr       string
			Datasource struct{ Type, UID string }
		}
	}
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	var d dashboard
	if err := json.Unmarshal([]byte(read(t, "deploy/grafana/elasticjob.json")), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// names returns the names of metrics of elasticjob in a text, without the suffixes of a histogram's series.
func names(text string) []string {
	all := regexp.MustCompile(`elasticjob_[a-z_]*[a-z]`).FindAllString(text, -1)
	for i, name := range all {
		for _, part := range []string{"_bucket", "_sum", "_count"} {
			name = strings.TrimSuffix(name, part)
		}
		all[i] = name
	}
	return all
}

// served returns the types of the metrics of elasticjob in a scrape, by name.
func served(scrape string) map[string]string {
	types := map[string]string{}
	for _, f := range regexp.MustCompile(`(?m)^# TYPE (elasticjob_\S+) (\S+)$`).FindAllStringSubmatch(scrape, -1) {
		types[f[1]] = f[2]
	}
	return types
}

// work makes a server run a daemon, this many jobs once each, and a job that fails.
func work(m *system.Machine, jobs int) {
	m.Helper()
	m.App("a", system.Files{"bin/start.sh": "#!/bin/sh\n[ \"$ELASTICJOB_JOB_NAME\" != bad ]\n"}, nil)
	m.Job("daemon", "a", system.Doc{"jobExecutionType": "DAEMON", "cron": "* * * * * ?"})
	m.Job("bad", "a", nil)
	m.Run("bad", "FAILED")
	var runs []string
	for i := range jobs {
		name := fmt.Sprintf("one_of_many_%d", i)
		m.Job(name, "a", nil)
		runs = append(runs, m.Trigger(name))
	}
	for _, id := range runs {
		m.Await(id, "FINISHED")
	}
}
