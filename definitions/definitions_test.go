package definitions_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/definitions"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/jobs"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

const billing = `kind: App
appName: billing
appURL: https://example.com/billing.tar.gz
bootstrapScript: bin/start.sh
---
# Runs each night.
kind: Job
jobName: nightly
appName: billing
jobExecutionType: TRANSIENT
cron: 0 0 3 * * ?
shardingTotalCount: 2
cpuCount: 0.5
memoryMB: 256
env:
  LEVEL: debug
  DB_PASSWORD:
    fromFile: /etc/elasticjob/secrets/db
`

// read returns the definitions in a text, which must be valid.
func read(t *testing.T, text string) *definitions.Set {
	t.Helper()
	set, err := definitions.Read([]definitions.Source{{Name: "billing.yaml", Text: []byte(text)}}, now)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestAllMistakesOfAllFilesAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	files := []definitions.Source{
		{Name: "a.yaml", Text: []byte("kind: Jop\njobName: x\n---\njobName: y\n---\n- a list\n")},
		{Name: "b.yaml", Text: []byte(`kind: Job
jobName: nightly
appName: billing
jobExecutionType: TRANSIENT
cron: 0 0 25 * * ?
shardingTotalCount: two
cpuCount: 0.5
memoryMb: 256
disabled: maybe
env:
  PORT: 80
  ELASTICJOB_X: a
`)},
		{Name: "c.yaml", Text: []byte("kind: App\nappName: [\n")},
		{Name: "d.yaml", Text: []byte(billing + "---\n" + "kind: App\nappName: billing\nappURL: ftp://x/y\nbootstrapScript: a | b\n")},
	}
	_, err := definitions.Read(files, now)
	if err == nil {
		t.Fatal("the files were read")
	}
	for _, want := range []string{
		`a.yaml:1: kind: unknown kind; did you mean Job?`,
		`a.yaml:4: kind: is missing; give kind: App or kind: Job`,
		`a.yaml:6: a definition must be fields`,
		`b.yaml:5: job nightly: cron: `,
		`b.yaml:6: job nightly: shardingTotalCount: a whole number is expected, found a string (found "two")`,
		`b.yaml:8: job nightly: memoryMb: unknown field; did you mean memoryMB? (found 256)`,
		`b.yaml:9: job nightly: disabled: must be true or false`,
		`b.yaml:11: job nightly: env.PORT: a string`,
		`c.yaml:`,
		`d.yaml:20: app billing: is defined twice, first at d.yaml:1`,
		`d.yaml:22: app billing: appURL: ftp is not supported`,
		`d.yaml:23: app billing: bootstrapScript: `,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%s", want, err)
		}
	}
}

func TestProblemsShowNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "hunter2hunter2"
	for _, text := range []string{
		"kind: Job\njobName: x\nenv: {DB_PASSWORD: [" + secret + "]}\n",
		"kind: Job\njobName: x\nenv: {DB_PASSWORD: *" + secret + "}\n",
		"kind: Job\njobName: x\nprops: {email.password: {valeu: " + secret + "}}\n",
		"kind: App\nappName: x\nappURL: http://me:" + secret + "@host/x\n",
	} {
		_, err := definitions.Read([]definitions.Source{{Name: "x.yaml", Text: []byte(text)}}, now)
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestLinksToFoldersAreReadOrRefusedButNotSkipped(t *testing.T) {
	t.Parallel()
	folder, linkedFolder := t.TempDir(), t.TempDir()
	file := filepath.Join(linkedFolder, "billing.yaml")
	link := filepath.Join(folder, "defs")
	if err := errors.Join(os.WriteFile(file, []byte(billing), 0o600), os.Symlink(linkedFolder, link)); err != nil {
		t.Fatal(err)
	}
	sources, err := definitions.Sources([]string{link}, nil)
	if err != nil || len(sources) != 1 || sources[0].Name != filepath.Join(link, "billing.yaml") ||
		string(sources[0].Text) != billing {
		t.Errorf("a link to a folder: read %v, %v", sources, err)
	}
	if err := os.Symlink(file, filepath.Join(folder, "linked.yaml")); err != nil {
		t.Fatal(err)
	}
	if sources, err = definitions.Sources([]string{folder}, nil); err == nil ||
		!strings.Contains(err.Error(), link+" is a link to a folder") {
		t.Errorf("a link within a folder: read %v, %v", sources, err)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if sources, err = definitions.Sources([]string{folder}, nil); err != nil || len(sources) != 1 {
		t.Errorf("a link to a file: read %v, %v", sources, err)
	}
}

func TestAliasesWithoutEndAreRefused(t *testing.T) {
	t.Parallel()
	bomb := "kind: Job\njobName: x\nprops: &a\n  k: *a\n"
	if _, err := definitions.Read([]definitions.Source{{Name: "x.yaml", Text: []byte(bomb)}}, now); err == nil {
		t.Error("a document whose alias contains itself was read")
	}
}

// object returns a random object that contains all types of values.
func object(random *rand.Rand) (o document.Object) {
	text, err := json.Marshal(map[string]any{text(random): []any{text(random), true, nil, 1.5,
		map[string]any{"a": text(random), "b": map[string]any{}}}, "c": 7})
	if err == nil {
		err = o.UnmarshalJSON(text)
	}
	if err != nil {
		panic(err)
	}
	return o
}

// fill sets each field of a document to a random value that is not its default.
func fill(value reflect.Value, random *rand.Rand) {
	for i := range value.NumField() {
		switch f := value.Field(i); f.Interface().(type) {
		case string:
			f.SetString(text(random))
		case bool:
			f.SetBool(!f.Bool())
		case int:
			f.SetInt(f.Int() + int64(random.IntN(50)) + 1)
		case float64:
			f.SetFloat(float64(random.IntN(100_000)) / 1000)
		case document.List:
			f.Set(reflect.ValueOf(document.ListOf(text(random), text(random))))
		case document.Object:
			f.Set(reflect.ValueOf(object(random)))
		case document.Texts:
			f.Set(reflect.ValueOf(document.Texts{
				"plain" + fmt.Sprint(random.IntN(9)): {Value: text(random)},
				"B":                                  {Value: text(random), Secret: true},
				"C":                                  {FromFile: "/etc/elasticjob/secrets/c"},
				"D":                                  {FromEnv: "HOSTNAME"},
			}))
		default:
			panic("a field of a type that this test cannot fill")
		}
	}
}

// text returns a random text of characters that have a meaning in YAML or JSON, and others.
func text(random *rand.Rand) string {
	parts := []string{"a", "Ünï", "\n", "\n\n", " ", "\t", "'", `"`, "#", ": ", "- ", "%", "yes", "null", "~", "0080",
		"1e3", "2026-05-01", "{", "[", "&", "*", "!", "|", ">", "\\", "\r", "\u0085", "\u2028", "😀", "<<", "=",
		"\u0001", "\ufeff"}
	var out strings.Builder
	for range random.IntN(6) {
		out.WriteString(parts[random.IntN(len(parts))])
	}
	return out.String()
}

func TestEveryFieldComesBackFromYAML(t *testing.T) {
	t.Parallel()
	property := func(seed uint64) bool {
		random := rand.New(rand.NewPCG(seed, 1))
		wantDisabled := random.IntN(2) == 0
		a := &definitions.Definition{Kind: definitions.App, App: app.Default(), Disabled: &wantDisabled}
		j := &definitions.Definition{Kind: definitions.Job, Job: jobs.Default()}
		fill(reflect.ValueOf(&a.App).Elem(), random)
		fill(reflect.ValueOf(&j.Job).Elem(), random)
		written, err := definitions.Encode([]*definitions.Definition{a, j})
		if err != nil {
			t.Fatal(err)
		}
		// The random documents violate rules, which does not matter here.
		set, _ := definitions.Read([]definitions.Source{{Name: "x.yaml", Text: written}}, now)
		if len(set.All) != 2 {
			t.Fatalf("%d definitions in\n%s", len(set.All), written)
		}
		disabled := set.All[0].Disabled != nil && *set.All[0].Disabled
		if !reflect.DeepEqual(set.All[0].App, a.App) || !reflect.DeepEqual(set.All[1].Job, j.Job) ||
			disabled != wantDisabled {
			t.Logf("seed %d:\n%s\n%#v\n%#v\nwant\n%#v\n%#v", seed, written, set.All[0].App, set.All[1].Job, a.App,
				j.Job)
			return false
		}
		return true
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 500}); err != nil {
		t.Error(err)
	}
}

func TestYAMLIsShortAndReadable(t *testing.T) {
	t.Parallel()
	set := read(t, billing)
	written, err := definitions.Encode(set.All)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(billing, "# Runs each night.\n", "", 1)
	want = strings.Replace(want, "jobExecutionType: TRANSIENT\n", "", 1) // omitted because it is the default
	want = strings.Replace(want, "  LEVEL: debug\n  DB_PASSWORD:\n    fromFile: /etc/elasticjob/secrets/db\n",
		"  DB_PASSWORD:\n    fromFile: /etc/elasticjob/secrets/db\n  LEVEL: debug\n", 1)
	if string(written) != want {
		t.Errorf("got\n%s\nwant\n%s", written, want)
	}
}
