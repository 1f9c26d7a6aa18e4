package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/elasticjob-go/elasticjob/client"
	codec "github.com/elasticjob-go/elasticjob/internal/document"
)

const jobPage = `{"total":3,"byState":{},"rows":[
{"jobName":"nightly-billing-of-all-tenants","appName":"billing","state":"RUNNING","nextFire":"2026-05-02T01:00:00Z","running":3,"waiting":1,
 "lastRun":{"executionId":"x","state":"FAILED","fireTime":"2026-05-01T11:59:15Z","durationMillis":870},"failures":12},
{"jobName":"夜间结算","appName":"app","state":"READY","nextFire":"2026-05-01T12:00:05Z","lastRun":{"executionId":"y","state":"FINISHED","fireTime":"2026-04-01T11:00:00Z","durationMillis":7265000}},
{"jobName":"hello\u001b[31m","appName":"app","state":"DISABLED","nextFire":null,"lastRun":null}]}`

func rows(t *testing.T) client.JobPage {
	t.Helper()
	var page client.JobPage
	if err := json.Unmarshal([]byte(jobPage), &page); err != nil {
		t.Fatal(err)
	}
	return page
}

// TestATableFits: cells are cut, down to the minimum widths, until the table fits, and columns stay aligned with wide
// characters.
func TestATableFits(t *testing.T) {
	t.Parallel()
	a, _, _ := newSession(t).cli("")
	table := a.jobTable(rows(t).Rows)
	var out strings.Builder
	for _, width := range []int{0, 80} {
		for _, line := range table.lines(width, false) {
			out.WriteString(line + "\n")
			if width > 0 && columns(line) > width {
				t.Errorf("%q has %d columns, want %d at most", line, columns(line), width)
			}
		}
	}
	golden(t, "jobs.txt", out.String())
}

// TestTopFitsItsScreen checks that no frame has more lines than the screen, even if the texts of problems are long.
func TestTopFitsItsScreen(t *testing.T) {
	t.Parallel()
	a, _, _ := newSession(t).cli("")
	s := &screen{server: "http://127.0.0.1:8899", width: 80, height: 24, order: "lastRun", descending: true,
		pageNumber: 1, page: rows(t)}
	if err := json.Unmarshal([]byte(`{"leader":{"address":"127.0.0.1:8899"},"version":"1.0","summary":{"jobs":{"RUNNING":1,"READY":1,"DISABLED":1},"apps":2,"runningShards":3,
		"runningExecutions":1,"subscribed":true,"agents":{"total":4,"unreachable":1,"closed":2},"cpus":{"total":8,"used":0.4},"memoryMB":{"total":1024,"used":64},"finishedLastHour":120,"failedLastHour":1},
		"problems":[{"kind":"FAILING","severity":"error","job":"nightly","count":12,"since":"2026-05-01T11:00:00Z","message":"exit status 1;\nend of stderr: `+strings.Repeat("x", 200)+`"},
		{"kind":"WARNING","severity":"warning","message":"the certificate expires"},{"kind":"LATE","severity":"error","job":"b"},{"kind":"LATE","severity":"error","job":"c"}],"problemsTotal":4}`), &s.overview); err != nil {
		t.Fatal(err)
	}
	lines := a.frame(s)
	golden(t, "top.txt", strings.Join(lines, "\n")+"\n")
	for _, size := range [][2]int{{80, 24}, {40, 10}, {20, 5}, {200, 60}, {10, 1}} {
		if s.width, s.height = size[0], size[1]; len(a.frame(s)) > s.height {
			t.Errorf("%d lines on a screen of %d", len(a.frame(s)), s.height)
		}
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	a, _, _ := newSession(t).cli("")
	for _, test := range []struct {
		after time.Duration
		want  string
	}{
		{25 * time.Second, "in 25s"}, {-200 * time.Second, "3m20s ago"}, {-2 * time.Hour, "2h00m ago"}, {76 * time.Hour, "in 3d04h"}, {-300 * 24 * time.Hour, "300d ago"}, {-time.Millisecond, "now"},
	} {
		if got := a.relative(now.Add(test.after)); got != test.want {
			t.Errorf("%v: %s, want %s", test.after, got, test.want)
		}
	}
	if got, want := a.timeText(now), "2026-05-01 14:00:00 CEST (now)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for d, want := range map[time.Duration]string{870 * time.Millisecond: "870ms", 10320 * time.Millisecond: "10.3s",
		90 * time.Second: "1m30s"} {
		if got := durationText(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestYAMLSaysWhatTheJSONDid(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := writeYAML(&out, []byte(`{"b":"1.0","a":1.50,"cron":"0 0 3 * * ?","lines":"one\ntwo\n","none":null,"no":"no","list":[],"map":{"k":{"secret":true}},"date":"2026-05-01","empty":""}`))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "answer.yaml", out.String())
	back, err := codec.Fields(out.Bytes())
	if err != nil || back["b"] != "1.0" || back["date"] != "2026-05-01" || back["no"] != "no" ||
		back["a"] != json.Number("1.50") {
		t.Errorf("%#v, %v: want what was written", back, err)
	}
}

func TestRoutesAreShownAsCommands(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`there is no job "x"; GET /api/job/jobs lists all`:      `there is no job "x"; "elasticjob job list" lists all`,
		"the job is paused: POST /api/job/a.b-c/resume":         `the job is paused: "elasticjob job resume a.b-c"`,
		"enable it (POST /api/app/x/enable), then register":     `enable it ("elasticjob app enable x"), then register`,
		"waiting (GET /api/job/my_job/explain says for what)":   `waiting ("elasticjob job explain my_job" says for what)`,
		"a daemon: GET /api/execution/j@20260501T120000Z":       `a daemon: "elasticjob run show j@20260501T120000Z"`,
		"GET /api/executions?state=WAITING,RUNNING lists those": `"elasticjob run list --state WAITING,RUNNING" lists those`,
		"this login has ended: log in again":                    `this login has ended: "elasticjob login" logs in again`,
		"https://host/api/app is not touched":                   "https://host/api/app is not touched",
	} {
		if got := inCommands(text); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

func TestLastLines(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text string
		most int
		want string
	}{{"a\nb\nc\n", 2, "b\nc\n"}, {"a\nb\nc", 1, "c"}, {"a\n", 5, "a\n"}, {"", 1, ""}, {"a\nb\n", 0, ""},
		{"\n\n", 1, "\n"}} {
		if got := string(lastLines([]byte(test.text), test.most)); got != test.want {
			t.Errorf("the last %d lines of %q are %q, want %q", test.most, test.text, got, test.want)
		}
	}
}

// TestOnlyColoursSteerATerminal: of a job's output only colours reach the terminal as control sequences; in JSON and
// YAML not even those.
func TestOnlyColoursSteerATerminal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain\ttext, 作业\n":                     "plain\ttext, 作业\n",
		"ends with CR\r\n":                      "ends with CR\n",
		"no end":                                "no end",
		"\x1b[1;38:5:200mred\x1b[0m then\n":     "\x1b[1;38:5:200mred\x1b[0m then\x1b[0m\n",
		"\x1b[31mto the end":                    "\x1b[31mto the end\x1b[0m",
		"\x1b]0;title\a\n":                      "�]0;title�\n",
		"\x1b]52;c;Y3VybA==\x1b\\\n":            "�]52;c;Y3VybA==�\\\n", // the clipboard
		"\x1b]8;;http://evil\x1b\\here\n":       "�]8;;http://evil�\\here\n",
		"\x1b[2J\x1b[1A\x1b[?1049h\x1b[6n\n":    "�[2J�[1A�[?1049h�[6n\n",
		"\x1bc\x1bP+q\x1b\\\x1b_x\x1b\\\x1b[\n": "�c�P+q�\\�_x�\\�[\n",
		"shown\rhidden\b\b\x7f\v\f\x00\n":       "shown�hidden������\n",
		"\u009b31m\u0085\x9b31m\n":              "�31m��31m\n", // C1 in UTF-8, and as a byte
		"a\u202etxt.exe\u2066\u200f\n":          "a�txt.exe��\n",
		"\x1b[31\x1b[32mm\n":                    "�[31\x1b[32mm\x1b[0m\n",
		"\x1b[1 q\x1b[>4;2m\x1b[?1m\n":          "�[1 q�[>4;2m�[?1m\n",
		"":                                      "",
	} {
		if got := string(printable([]byte(text))); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if !newLineWriter(&lockedWriter{w: &lockedWriter{w: f}}, "").terminal ||
		newLineWriter(&lockedWriter{w: io.Discard}, "").terminal {
		t.Error("a terminal is not recognized")
	}
	const raw = `{"a\u202eb":"\u2066x\u009b31m\u007f 作业　é","n":"yes"}`
	var text any
	if err := json.Unmarshal([]byte(raw), &text); err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"json", "yaml"} {
		var out bytes.Buffer
		a := &cli{out: &out, output: form}
		if err := a.showOwn(text, nil); err != nil {
			t.Fatal(err)
		}
		var back any
		if err := yaml.Unmarshal(out.Bytes(), &back); err != nil || !reflect.DeepEqual(back, text) {
			t.Errorf("%s is read as %v, %v", form, back, err)
		}
		if strings.ContainsFunc(out.String(), isControl) || strings.Contains(out.String(), "\x1b") ||
			!strings.Contains(out.String(), "作业") {
			t.Errorf("%s is %q", form, out.String())
		}
	}
}

// TestLinesOfSeveralAreNotMixed: only whole lines are written, each with its prefix.
func TestLinesOfSeveralAreNotMixed(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	shared := &lockedWriter{w: &out}
	one, two := newLineWriter(shared, "0| "), newLineWriter(shared, "1| ")
	for _, part := range []struct {
		w    *lineWriter
		text string
	}{{one, "a"}, {two, "x\ny"}, {one, "b\nc\n"}, {two, "z"}} {
		if _, err := part.w.Write([]byte(part.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := two.end(); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "1| x\n0| ab\n0| c\n1| yz\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
