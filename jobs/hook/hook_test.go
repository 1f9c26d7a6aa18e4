package hook_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/jobs/hook"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"text":{{json .text}}}`: "",
		`{"a":[{{range $i, $s := .shards}}{{if $i}},{{end}}{{json $s.failureCause}}{{end}}]}`:               "",
		`{"a":[{{range .otherJobs}}{{range .shards}}{{.item}},{{end}}{{end}}0]}`:                            "",
		`{"a":{{json (print .jobName " at " .fireTime)}},"b":{{.failedShards}},"c":"{{.jobName}}"}`:         "",
		`{"a":{{if gt .failedShards 1}}1{{else}}2{{end}},"b":{{json (short 5 .text)}},"c":{{len .shards}}}`: "",
		`{{json .}}`:           "",
		`"{{.seconds}}"`:       "",
		`{"text":"{{.text}}"}`: "gives no JSON",
		`{"text":{{.text}}}`:   "gives no JSON",
		`{"a":[{{range .shards}}{{.item}},{{end}}]}`: "gives no JSON",
		`{"text":{{json .txt}}}`:                     "there is no field txt; the fields are agent",
		`{"text":{{json .jobName.x}}}`:               "there is no field x",
		`{"text":{{json .text}`:                      "line:1:",
		`{"text":{{jso .text}}}`:                     `function "jso" not defined`,
		`{"a":{{json (index .shards 1).item}}}`:      "index",
		`{{printf "%1000000000d" 1}}`:                "the function printf is not allowed; allowed are and, eq",
		`{{call .text}}`:                             "the function call is not allowed",
		`{{range 1000000000}}{{end}}1`:               "range 1000000000 is not allowed",
		`{{range .failedShards}}{{end}}1`:            "range .failedShards is not allowed",
		`{{range .otherJobs}}{{range $.otherJobs}}{{range $.otherJobs}}{{end}}{{end}}{{end}}1`: "at most 2 are nested",
		`{{define "x"}}{{template "x"}}{{end}}1`:                                               "defines other templates",
		`{{template "line"}}`:                                                                  "is not allowed",
		`{{$a := print .text .text}}` + strings.Repeat(`{{$a = print $a $a}}`, 60) + `1`:       "more than 512 KiB",
		``:                          "gives no JSON",
		strings.Repeat(" ", 17<<10): "longer than 16 KiB",
	} {
		if got := hook.Check(text); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%.200s: %q, want %q", text, got, want)
		}
	}
}

// TestRender checks that a template may use fields that a message leaves out.
func TestRender(t *testing.T) {
	t.Parallel()
	got, err := hook.Render(`[{{json .secret}},{{json .feishuSign}},{{.seconds}},{{len .otherJobs}},{{.otherJobCount}}`+
		`{{range .shards}},{{json .failureCode}},{{json .failureArgs}},{{.item}}{{end}},{{json .text}}]`,
		[]byte(`{"text":"<b>\n\"北京\"","shards":[{"item":4}]}`), "key", time.Unix(1599360473, 0))
	if want := `["key","Dj3J6+l2ORqf/uSfLExhM/QcvBgAfrEeQaFEb4fzUc4=",1599360473,0,0,"",{},4,"<b>\n\"北京\""]`; err != nil ||
		string(got) != want || !json.Valid(got) {
		t.Errorf("%v\n%s, want\n%s", err, got, want)
	}
}
