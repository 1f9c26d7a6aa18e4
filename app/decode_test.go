package app_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/document/documenttest"
)

const quickStart = `{"appName":"my_app","appURL":"http://127.0.0.1:8080/my-job.tar.gz","cpuCount":0.1,"memoryMB":64.0,"bootstrapScript":"bin/start.sh","appCacheEnable":true,"eventTraceSamplingCount":0}`

// stored returns the document of quickStart.
func stored() app.Config {
	return app.Config{
		AppName: "my_app", AppURL: "http://127.0.0.1:8080/my-job.tar.gz", BootstrapScript: "bin/start.sh",
		CPUCount: 0.1, MemoryMB: 64, AppCacheEnable: true,
	}
}

func TestDecodeQuickStart(t *testing.T) {
	t.Parallel()
	got, notes, err := app.Schema.Decode([]byte(quickStart), app.Default())
	if err != nil || len(notes) != 0 {
		t.Fatal(notes, err)
	}
	if diff := cmp.Diff(stored(), got); diff != "" {
		t.Error(diff)
	}
	if bad := got.Check(app.CheckOptions{}); len(bad) > 0 {
		t.Error(bad)
	}
}

// TestDecodePartialUpdate checks that the documented partial update changes only the given fields [D10].
func TestDecodePartialUpdate(t *testing.T) {
	t.Parallel()
	got, _, err := app.Schema.Decode([]byte(`{"appName":"my_app","appCacheEnable":false,"eventTraceSamplingCount":5}`),
		stored())
	want := stored()
	want.AppCacheEnable, want.EventTraceSamplingCount = false, 5
	if err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestDecodeDefaults(t *testing.T) {
	t.Parallel()
	if want := (app.Config{CPUCount: 1, MemoryMB: 128, AppCacheEnable: true}); app.Default() != want {
		t.Errorf("got %+v, want %+v", app.Default(), want)
	}
	base := stored()
	base.AppCacheEnable = false
	got, _, err := app.Schema.Decode(
		[]byte(`{"cpuCount":null,"memoryMB":null,"appCacheEnable":null,"bootstrapScript":null}`), base)
	want := stored()
	want.CPUCount, want.MemoryMB, want.BootstrapScript = 1, 128, ""
	if err != nil || got != want {
		t.Errorf("null: got %+v, %v; want %+v", got, err, want)
	}
}

func TestDecodeSyntax(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body, want string
	}{
		{"empty", "", "line 1, column 1: the body is empty"},
		{"blank", " \n ", "line 2, column 2: the body is empty"},
		{"ends early", "{\n  \"appName\": \"a", "line 2, column 16: the body ends in the middle of a value"},
		{"trailing comma", `{"appName":"a",}`, "line 1, column 16: invalid character '}'"},
		{"second line", "{\"appName\": \"ä\",\n \"cpuCount\": }", "line 2, column 14: invalid character '}'"},
		{"counts characters", `{"appName":"äöü",}`, "line 1, column 18: invalid character '}'"},
		{"single quotes", `{'appName':'a'}`, "line 1, column 2: invalid character '\\''"},
		{"NaN", `{"cpuCount":NaN}`, "line 1, column 13: invalid character 'N'"},
		{"bare name", `my_app`, "line 1, column 1: invalid character 'm'"},
		{"trailing data", `{"appName":"a"} {"b":1}`, "line 1, column 17: invalid character '{' after top-level value"},
		{"array", `[{"appName":"a"}]`, "line 1, column 1: an object is expected, found an array"},
		{"string", ` "a"`, "line 1, column 2: an object is expected, found a string"},
		{"null", `null`, "line 1, column 1: an object is expected, found null"},
		{"not UTF-8", "{\"appName\":\"a\xff\"}", "line 1, column 14: this byte is not UTF-8"},
		{"nested too deep", strings.Repeat("[", 20_000), "exceeded max depth"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, _, err := app.Schema.Decode([]byte(test.body), stored())
			var syntax *document.SyntaxError
			if !errors.As(err, &syntax) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want a SyntaxError with %q", err, test.want)
			}
			if got != stored() {
				t.Errorf("the document was changed: %+v", got)
			}
		})
	}
}

func TestDecodeViolations(t *testing.T) {
	t.Parallel()
	documenttest.Refuses(t, app.Schema, stored(), []documenttest.Refused{
		{`{"cpuCount":"1"}`, "cpuCount", `"1"`, "a number is expected, found a string"},
		{`{"cpuCount":true}`, "cpuCount", `true`, "a number is expected, found a boolean"},
		{`{"cpuCount":1e400}`, "cpuCount", "1e400", "the number is too large"},
		{`{"cpuCount":-1e400}`, "cpuCount", "-1e400", "the number is too large"},
		{`{"eventTraceSamplingCount":1.5}`, "eventTraceSamplingCount", "1.5", "a whole number is expected, found a fraction"},
		{`{"eventTraceSamplingCount":99999999999999999999}`, "eventTraceSamplingCount", "99999999999999999999", "the number is too large"},
		{`{"eventTraceSamplingCount":"3"}`, "eventTraceSamplingCount", `"3"`, "a whole number is expected, found a string"},
		{`{"appCacheEnable":1}`, "appCacheEnable", "1", "true or false is expected, found a number"},
		{`{"appCacheEnable":"true"}`, "appCacheEnable", `"true"`, "true or false is expected, found a string"},
		{`{"appURL":{"a":1}}`, "appURL", "", "a string is expected, found an object"},
		{`{"appURL":["a"]}`, "appURL", "", "a string is expected, found an array"},
		{`{"cpucount":1}`, "cpucount", "1", "unknown field; did you mean cpuCount?"},
		{`{"cpu_count":1}`, "cpu_count", "1", "unknown field; did you mean cpuCount?"},
		{`{"appUrl":"x"}`, "appUrl", `"x"`, "unknown field; did you mean appURL?"},
		{`{"memoryMb":1}`, "memoryMb", "1", "unknown field; did you mean memoryMB?"},
		{`{"bootstrapScripts":1}`, "bootstrapScripts", "1", "unknown field; did you mean bootstrapScript?"},
		{`{"zzz":1}`, "zzz", "1", "unknown field; known are appName, appURL, bootstrapScript, cpuCount, memoryMB, appCacheEnable, eventTraceSamplingCount, appSHA256"},
		{`{"":1}`, "", "1", "unknown field; known are"},
		{`{"cpuCount":1,"cpuCount":2}`, "cpuCount", "2", "is given more than once"},
		{`{"appName":"other"}`, "appName", "other", `cannot be changed: this is the document of "my_app"`},
		{`{"appName":null}`, "appName", "", "cannot be changed"},
	})
}

func TestDecodeAcceptsWholeNumbersInAnyForm(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"300", "300.0", "3e2", "3.0E+2"} {
		got, _, err := app.Schema.Decode([]byte(`{"eventTraceSamplingCount":`+text+`}`), stored())
		if err != nil || got.EventTraceSamplingCount != 300 {
			t.Errorf("%s: got %d, %v", text, got.EventTraceSamplingCount, err)
		}
	}
}

// TestDecodeAndCheckTogether checks that the violations of unreadable fields, and those of the rules, are in one
// answer, and that each field has only one.
func TestDecodeAndCheckTogether(t *testing.T) {
	t.Parallel()
	cfg, _, err := app.Schema.Decode(
		[]byte(`{"appName":"a/b","appURL":7,"cpuCount":-1,"bootstrapScript":"x","colour":"red"}`), app.Default())
	all := documenttest.Violations(t, err).And(cfg.Check(app.CheckOptions{}))
	var fields []string
	for _, v := range all {
		fields = append(fields, v.Field)
	}
	if diff := cmp.Diff([]string{"appURL", "colour", "appName", "cpuCount"}, fields); diff != "" {
		t.Errorf("%v\n%s", all, diff)
	}
}

func TestDecodeBoundsItsAnswer(t *testing.T) {
	t.Parallel()
	for more, want := range map[int]string{
		10_000: "9951 more fields are unknown or given more than once",
		50:     "1 more field is unknown or given more than once",
	} {
		var body strings.Builder
		body.WriteString(`{"` + strings.Repeat("ä", 500) + `":"` + strings.Repeat("ü", 500) + `"`)
		for i := range more {
			fmt.Fprintf(&body, `,"x%d":0`, i)
		}
		body.WriteString("}")
		_, _, err := app.Schema.Decode([]byte(body.String()), app.Default())
		bad := documenttest.Violations(t, err)
		if len(bad) != 51 || bad[50].Message != want {
			t.Errorf("got %d violations, the last one %+v, want %s", len(bad), bad[len(bad)-1], want)
		}
		if len(bad[0].Field) > 84 || len(bad[0].Value) > 84 || !strings.HasSuffix(bad[0].Value, "ü…") {
			t.Errorf("not shortened: %+v", bad[0])
		}
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	if name, err := app.Schema.Name([]byte(`{"cpuCount":"wrong","appName":"a"}`)); err != nil || name != "a" {
		t.Errorf("got %q, %v", name, err)
	}
	for _, body := range []string{`{}`, `{"appName":null}`, `{"appName":5}`} {
		_, err := app.Schema.Name([]byte(body))
		if bad := documenttest.Violations(t, err); bad[0].Field != "appName" {
			t.Errorf("%s: %v", body, bad)
		}
	}
	var syntax *document.SyntaxError
	if _, err := app.Schema.Name([]byte(`{`)); !errors.As(err, &syntax) {
		t.Errorf("got %v", err)
	}
}

func configs() *rapid.Generator[app.Config] {
	return rapid.Custom(func(t *rapid.T) app.Config {
		return app.Config{
			AppName:                 rapid.String().Draw(t, "name"),
			AppURL:                  rapid.String().Draw(t, "url"),
			BootstrapScript:         rapid.String().Draw(t, "script"),
			CPUCount:                rapid.Float64().Draw(t, "cpu"),
			MemoryMB:                rapid.Float64().Draw(t, "memory"),
			AppCacheEnable:          rapid.Bool().Draw(t, "cache"),
			EventTraceSamplingCount: int(rapid.Int32().Draw(t, "sampling")),
			AppSHA256:               rapid.String().Draw(t, "sha"),
		}
	})
}

func TestDecodeRoundTrip(t *testing.T) {
	t.Parallel()
	documenttest.RoundTrips(t, app.Schema, app.Default(), configs())
}

func TestDecodeMergesOneField(t *testing.T) {
	t.Parallel()
	documenttest.MergesOneField(t, app.Schema, configs())
}

func FuzzDecode(f *testing.F) {
	f.Add(quickStart)
	f.Add(`{"appName":null,"x":[{}],"cpuCount":1e400}`)
	f.Add("{\"a\xff\"")
	f.Fuzz(func(t *testing.T, body string) {
		got, _, err := app.Schema.Decode([]byte(body), app.Default())
		var syntax *document.SyntaxError
		var bad document.Violations
		switch {
		case errors.As(err, &syntax):
			if syntax.Line < 1 || syntax.Column < 1 {
				t.Errorf("no position: %v", err)
			}
		case errors.As(err, &bad):
		case err != nil:
			t.Errorf("another error: %v", err)
		default:
			if again, _, err := app.Schema.Decode(documenttest.Encode(t, got), app.Default()); err != nil ||
				again != got {
				t.Errorf("got %+v, then %+v, %v", got, again, err)
			}
		}
	})
}

func TestDecodeStoredAppsOfTheOriginal(t *testing.T) {
	t.Parallel()
	want := app.Default()
	want.AppName, want.AppURL, want.BootstrapScript = "test_app", "http://localhost/app.jar", "bin/start.sh"
	for _, file := range []string{"testdata/app-3.0.1.yaml", "testdata/app-2.1.5.json"} {
		doc, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, notes, err := app.Schema.DecodeStored(doc)
		if err != nil || len(notes) > 0 || got != want {
			t.Errorf("%s: %+v, %v, %v", file, got, notes, err)
		}
		if strings.HasSuffix(file, ".yaml") && string(app.Schema.EncodeYAML(got)) != string(doc) {
			t.Errorf("it is written as\n%s", app.Schema.EncodeYAML(got))
		}
	}
}
