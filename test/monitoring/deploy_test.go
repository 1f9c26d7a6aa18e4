package monitoring_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/child"
	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

const alerts = "deploy/prometheus/alerts.yml"

// TestAlerts: promtool accepts the alerts, and its tests show when they fire and when they do not. Each alert has a
// summary and a description, and all routes that alerts name exist.
func TestAlerts(t *testing.T) {
	t.Parallel()
	promtool(t, "", "check", "rules", filepath.Join(root, alerts))
	promtool(t, "", "test", "rules", filepath.Join(root, "deploy/prometheus/alerts_test.yml"))
	text, tests, api := read(t, alerts), read(t, "deploy/prometheus/alerts_test.yml"), read(t, "docs/api.md")
	found := regexp.MustCompile(`(?m)^ +- alert: (\w+)$`).FindAllStringSubmatch(text, -1)
	if len(found) == 0 || len(found) != strings.Count(text, " summary: ") ||
		len(found) != strings.Count(text, " description: ") {
		t.Errorf("%d alerts, %d summaries, %d descriptions", len(found), strings.Count(text, " summary: "),
			strings.Count(text, " description: "))
	}
	for _, alert := range found {
		if !strings.Contains(tests, `alertname="`+alert[1]+`"`) {
			t.Errorf("no test expects the alert %s to fire", alert[1])
		}
	}
	for _, route := range regexp.MustCompile(`GET (/[A-Za-z{}/]+)`).FindAllStringSubmatch(text, -1) {
		if !strings.Contains(api, "GET "+route[1]) {
			t.Errorf("an alert names %s, which is no route", route[0])
		}
	}
}

// TestDashboard: the dashboard can be imported, because its data source is a variable, and its panels do not overlap.
func TestDashboard(t *testing.T) {
	t.Parallel()
	d := readDashboard(t)
	variables := map[string]string{}
	for _, v := range d.Templating.List {
		variables[v.Name] = v.Type
	}
	if d.Title == "" || d.UID == "" || variables["datasource"] != "datasource" || variables["job"] != "query" {
		t.Errorf("title %q, uid %q, variables %v", d.Title, d.UID, variables)
	}
	taken, ids := map[[2]int]string{}, map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.Title == "" ||
			p.Type != "row" && (len(p.Targets) == 0 || p.Datasource.UID != "${datasource}") {
			t.Errorf("panel %+v", p)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			if target.Datasource.UID != "${datasource}" || target.RefID == "" ||
				!strings.Contains(target.Expr, `job=~"$job"`) {
				t.Errorf("%s: %+v", p.Title, target)
			}
		}
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if taken[at] != "" || at[0] >= 24 {
					t.Errorf("panel %s overlaps %q, or leaves the grid, at %v", p.Title, taken[at], at)
				}
				taken[at] = p.Title
			}
		}
	}
}

// TestPrometheusAnswersEveryQuery: a real Prometheus scrapes a real server, accepts the rules, and answers the
// queries of the dashboard with numbers. Metrics have the names in docs/metrics.md, and dashboard and rules use no
// others.
func TestPrometheusAnswersEveryQuery(t *testing.T) {
	t.Parallel()
	m := system.New(t, bin)
	m.Start()
	work(m, 3)
	m.Job("tick", "a", system.Doc{"cron": "* * * * * ?"})
	p := startPrometheus(m)

	types := served(m.OK("GET", "/metrics", ""))
	// Without a database there is no history.
	keepsHistory := types["elasticjob_history_database_up"] != ""
	// There is no certificate and no Kubernetes either.
	missing := func(name string) bool {
		return types[name] == "" && (keepsHistory || !strings.HasPrefix(name, "elasticjob_history_")) &&
			!strings.HasPrefix(name, "elasticjob_tls_") && !strings.HasPrefix(name, "elasticjob_kubernetes_")
	}
	documents := []string{"docs/metrics.md", alerts, "deploy/grafana/elasticjob.json"}
	for _, document := range documents {
		for _, name := range names(read(t, document)) {
			if missing(name) {
				t.Errorf("%s names the metric %s, which the server does not have", document, name)
			}
		}
	}
	for name := range types {
		if !slices.Contains(names(read(t, "docs/metrics.md")), name) {
			t.Errorf("docs/metrics.md does not name the metric %s", name)
		}
	}

	variables := strings.NewReplacer("$job", ".*", "$__rate_interval", "1m")
	for _, panel := range readDashboard(t).Panels {
		for _, target := range panel.Targets {
			if slices.ContainsFunc(names(target.Expr), func(name string) bool { return types[name] == "" }) {
				continue // a metric that this server does not have, such as those of the history
			}
			query := variables.Replace(target.Expr)
			m.Until(panel.Title+" shows something", func() string {
				if n := p.query(query); n == 0 {
					return "nothing answers " + query
				}
				return ""
			})
		}
	}
	var rules struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError, State string }
		}
	}
	m.Until("the rules have been evaluated", func() string {
		p.get("/api/v1/rules", &rules)
		for _, g := range rules.Groups {
			for _, r := range g.Rules {
				if r.Health != "ok" || r.LastError != "" {
					return fmt.Sprintf("%+v", r)
				}
				if r.State == "firing" {
					m.Fatalf("%s fires on a server without a fault", r.Name)
				}
			}
		}
		if len(rules.Groups) == 0 {
			return "no rules are loaded"
		}
		return ""
	})
}

// prometheus is a Prometheus that scrapes a machine's server each second.
type prometheus struct {
	m   *system.Machine
	url string
}

func startPrometheus(m *system.Machine) *prometheus {
	m.Helper()
	dir := m.TempDir()
	ports, err := child.FreePorts(1)
	if err != nil {
		m.Fatal(err)
	}
	rules, err := filepath.Abs(filepath.Join(root, alerts))
	if err != nil {
		m.Fatal(err)
	}
	target, err := url.Parse(m.URL())
	if err != nil {
		m.Fatal(err)
	}
	config := fmt.Sprintf(`{global: {scrape_interval: 1s, evaluation_interval: 1s}, rule_files: [%q],
  scrape_configs: [{job_name: elasticjob, static_configs: [{targets: [%q]}]}]}`, rules, target.Host)
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		m.Fatal(err)
	}
	program, err := exec.LookPath("prometheus")
	if err != nil {
		m.Fatal("this test needs prometheus: apt-get install prometheus")
	}
	address, log := fmt.Sprintf("127.0.0.1:%d", ports[0]), filepath.Join(dir, "log")
	cmd := exec.Command(program, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+address)
	process, err := child.Start(cmd, log)
	if err != nil {
		m.Fatal(err)
	}
	m.Cleanup(func() {
		process.Kill()
		if m.Failed() {
			m.Logf("Prometheus' log ends: %s", child.LastWords(log))
		}
	})
	p := &prometheus{m, "http://" + address}
	m.Until("Prometheus is ready", func() string {
		select {
		case <-process.Done():
			m.Fatalf("Prometheus has ended: %s", child.LastWords(log))
		default:
		}
		if !process.ListensAt(ports[0]) {
			return "it does not listen: " + child.LastWords(log)
		}
		resp, err := client.Get(p.url + "/-/ready")
		if err != nil {
			return err.Error()
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode != http.StatusOK {
			return resp.Status
		}
		return ""
	})
	return p
}

// client keeps no idle connections, which would count as leaked goroutines.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 30 * time.Second}

// get decodes the data in an answer of Prometheus' API.
func (p *prometheus) get(path string, data any) {
	p.m.Helper()
	resp, err := client.Get(p.url + path)
	if err != nil {
		p.m.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	if err != nil || answer.Status != "success" {
		p.m.Fatalf("GET %s: %v, %s", path, err, text)
	}
}

// query returns the number of series that answer a query with a number; a quantile without samples is not a number.
func (p *prometheus) query(text string) (n int) {
	p.m.Helper()
	var data struct{ Result []struct{ Value [2]any } }
	p.get("/api/v1/query?query="+url.QueryEscape(text), &data)
	for _, series := range data.Result {
		if series.Value[1] != "NaN" {
			n++
		}
	}
	return n
}
