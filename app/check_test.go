package app_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/elasticjob-go/elasticjob/app"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	reserved := func(name string) bool { return name == "list" }
	tests := []struct {
		name   string
		change func(*app.Config)
		allow  bool
		field  string // "" for a valid document
		want   string
	}{
		{name: "quick start", change: func(*app.Config) {}},
		{name: "longest name", change: func(c *app.Config) { c.AppName = strings.Repeat("a", 100) }},
		{name: "no name", change: func(c *app.Config) { c.AppName = "" }, field: "appName", want: "is missing"},
		{name: "name too long", change: func(c *app.Config) { c.AppName = strings.Repeat("a", 101) }, field: "appName", want: "1 to 100 letters"},
		{name: "name with slash", change: func(c *app.Config) { c.AppName = "a/b" }, field: "appName", want: "1 to 100 letters"},
		{name: "name with delimiter", change: func(c *app.Config) { c.AppName = "a@-@b" }, field: "appName", want: "1 to 100 letters"},
		{name: "name with line break", change: func(c *app.Config) { c.AppName = "a\n" }, field: "appName", want: "1 to 100 letters"},
		{name: "name of dots", change: func(c *app.Config) { c.AppName = ".." }, field: "appName", want: "beginning with a letter"},
		{name: "reserved name [D05]", change: func(c *app.Config) { c.AppName = "list" }, field: "appName", want: "is reserved"},
		{name: "https", change: func(c *app.Config) { c.AppURL = "HTTPS://h:443/a%20b?sig=1" }},
		{name: "no URL", change: func(c *app.Config) { c.AppURL = "" }, field: "appURL", want: "is missing"},
		{name: "relative path", change: func(c *app.Config) { c.AppURL = "my-job.tar.gz" }, allow: true, field: "appURL", want: "must be a URL, such as http://"},
		{name: "path", change: func(c *app.Config) { c.AppURL = "/tmp/a b.jar" }, allow: true, field: "appURL", want: "must be a URL: file:///tmp/a%20b.jar for this file"},
		{name: "path on a cluster", change: func(c *app.Config) { c.AppURL = "/tmp/a.jar" }, field: "appURL", want: "must be a URL, such as http://"},
		{name: "no host", change: func(c *app.Config) { c.AppURL = "http:///my-job.tar.gz" }, field: "appURL", want: "must name a host"},
		{name: "port only", change: func(c *app.Config) { c.AppURL = "http://:80/x" }, field: "appURL", want: "must name a host"},
		{name: "bad port", change: func(c *app.Config) { c.AppURL = "http://h:65536/x" }, field: "appURL", want: "port 65536"},
		{name: "broken", change: func(c *app.Config) { c.AppURL = "http://h:%zz" }, field: "appURL", want: "is not a URL"},
		{name: "ftp", change: func(c *app.Config) { c.AppURL = "ftp://h/x" }, field: "appURL", want: "ftp is not supported"},
		{name: "s3", change: func(c *app.Config) { c.AppURL = "s3://h/x" }, field: "appURL", want: `scheme "s3" is not supported`},
		{name: "file", change: func(c *app.Config) { c.AppURL = "file:///srv/x" }, field: "appURL", want: "one machine only"},
		{name: "file allowed", change: func(c *app.Config) { c.AppURL = "file:///srv/x" }, allow: true},
		{name: "file of another host", change: func(c *app.Config) { c.AppURL = "file://h/srv/x" }, allow: true, field: "appURL", want: "whole path"},
		{name: "file relative", change: func(c *app.Config) { c.AppURL = "file:x" }, allow: true, field: "appURL", want: "whole path"},
		{name: "long URL", change: func(c *app.Config) { c.AppURL = "http://h/" + strings.Repeat("x", 5000) }, field: "appURL", want: "longer than"},
		{name: "no script", change: func(c *app.Config) { c.BootstrapScript = " \t" }, field: "bootstrapScript", want: "is missing"},
		{name: "script with pipe", change: func(c *app.Config) { c.BootstrapScript = "a | b" }, field: "bootstrapScript", want: "sh -c '…'"},
		{name: "script with NUL", change: func(c *app.Config) { c.BootstrapScript = "a\x00b" }, field: "bootstrapScript", want: "NUL"},
		{name: "script of another coding", change: func(c *app.Config) { c.BootstrapScript = "a\xff" }, field: "bootstrapScript", want: "not UTF-8"},
		{name: "long script", change: func(c *app.Config) { c.BootstrapScript = strings.Repeat("x", 70_000) }, field: "bootstrapScript", want: "longer than"},
		{name: "least resources", change: func(c *app.Config) { c.CPUCount, c.MemoryMB = 0.001, 1 }},
		{name: "no CPU", change: func(c *app.Config) { c.CPUCount = 0 }, field: "cpuCount", want: "from 0.001 to 1000000"},
		{name: "negative CPU", change: func(c *app.Config) { c.CPUCount = -1 }, field: "cpuCount", want: "from 0.001"},
		{name: "CPU NaN", change: func(c *app.Config) { c.CPUCount = math.NaN() }, field: "cpuCount", want: "from 0.001"},
		{name: "CPU infinite", change: func(c *app.Config) { c.CPUCount = math.Inf(1) }, field: "cpuCount", want: "from 0.001"},
		{name: "little memory", change: func(c *app.Config) { c.MemoryMB = 0.999 }, field: "memoryMB", want: "from 1 to 1000000000"},
		{name: "huge memory", change: func(c *app.Config) { c.MemoryMB = 1e300 }, field: "memoryMB", want: "from 1"},
		{name: "negative sampling", change: func(c *app.Config) { c.EventTraceSamplingCount = -1 }, field: "eventTraceSamplingCount", want: "0 (all events)"},
		{name: "checksum", change: func(c *app.Config) { c.AppSHA256 = strings.Repeat("aF", 32) }},
		{name: "short checksum", change: func(c *app.Config) { c.AppSHA256 = strings.Repeat("a", 40) }, field: "appSHA256", want: "64 hex digits"},
		{name: "checksum of other letters", change: func(c *app.Config) { c.AppSHA256 = strings.Repeat("g", 64) }, field: "appSHA256", want: "64 hex digits"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := stored()
			test.change(&c)
			bad := c.Check(app.CheckOptions{Reserved: reserved, AllowFile: test.allow})
			if test.field == "" {
				if bad.OrNil() != nil {
					t.Errorf("refused: %v", bad)
				}
				return
			}
			if len(bad) != 1 || bad[0].Field != test.field || !strings.Contains(bad[0].Message, test.want) {
				t.Errorf("got %+v, want %s: …%s…", bad, test.field, test.want)
			}
		})
	}
}

// TestCheckHidesCredentials checks that the violation of a refused URL does not contain a possible password.
func TestCheckHidesCredentials(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"http://me:hunter2@h/x", "http://hunter2@h/x", "http://me:hun/ter2@h/x",
		"ftp://me:hunter2@h/x", "file://me:hunter2@localhost/x", "me:hunter2@h"} {
		c := stored()
		c.AppURL = url
		bad := c.Check(app.CheckOptions{AllowFile: true})
		if len(bad) != 1 || strings.Contains(bad[0].Value+bad[0].Message, "ter2") ||
			!strings.Contains(bad[0].Value, "***@") {
			t.Errorf("%s: %+v", url, bad)
		}
	}
}

func TestCheckReturnsAllViolations(t *testing.T) {
	t.Parallel()
	var fields []string
	for _, v := range (app.Config{EventTraceSamplingCount: -1, AppSHA256: "x"}).Check(app.CheckOptions{}) {
		fields = append(fields, v.Field)
	}
	want := []string{"appName", "appURL", "bootstrapScript", "cpuCount", "memoryMB", "eventTraceSamplingCount",
		"appSHA256"}
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Error(diff)
	}
}

// TestSplitCommand checks that a command line is split as a POSIX shell splits it [D61].
func TestSplitCommand(t *testing.T) {
	t.Parallel()
	tests := []struct {
		line string
		want []string
	}{
		{"bin/start.sh", []string{"bin/start.sh"}},
		{"  sh \t a.sh  -x ", []string{"sh", "a.sh", "-x"}},
		{`sh -c 'a | b; echo $X > "y"'`, []string{"sh", "-c", `a | b; echo $X > "y"`}},
		{`a "b c" 'd e'`, []string{"a", "b c", "d e"}},
		{`a"b c"'d e'f`, []string{"ab cd ef"}},
		{`a "" ''`, []string{"a", "", ""}},
		{`a "x\"y\\z\$w\` + "`" + `v\n"`, []string{"a", `x"y\z$w` + "`" + `v\n`}},
		{`a 'x\"y'`, []string{"a", `x\"y`}},
		{`a b\ c \| \' \ä`, []string{"a", "b c", "|", "'", "ä"}},
		{"a \\\n b\\\nc", []string{"a", "bc"}},
		{"a \"b\\\nc\"", []string{"a", "bc"}},
		{"\n a b\r\n\n", []string{"a", "b"}},
		{`a "| & ; < > $x"`, []string{"a", "| & ; < > $x"}},
		{`a * ? [x] ~ {b,c} # !`, []string{"a", "*", "?", "[x]", "~", "{b,c}", "#", "!"}},
		{"a 'b\nc'", []string{"a", "b\nc"}},
	}
	for _, test := range tests {
		got, err := app.SplitCommand(test.line)
		if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
			t.Errorf("%q: %v\n%s", test.line, err, diff)
		}
	}
}

func TestSplitCommandRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ line, want string }{
		{"", "no command"},
		{" \n ", "no command"},
		{`"" a`, "the program to run, is empty"},
		{`a 'b`, "the single quote at column 3 is never closed"},
		{`ä "b`, "the double quote at column 3 is never closed"},
		{`a "b\"`, "the double quote at column 3 is never closed"},
		{`a \`, "ends with a backslash"},
		{"a\nb", "unquoted line break at column 2"},
		{"a | b", "unquoted '|' at column 3: no shell is started; if you want one write sh -c '…'"},
		{"a&", "unquoted '&'"},
		{"a;b", "unquoted ';'"},
		{"a <b", "unquoted '<'"},
		{"a >b", "unquoted '>'"},
		{"a $HOME", "unquoted '$'"},
		{"a `b`", "unquoted '`'"},
	}
	for _, test := range tests {
		if words, err := app.SplitCommand(test.line); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: got %q, %v; want %q", test.line, words, err, test.want)
		}
	}
}

// TestSplitCommandProperty checks that quoted words are returned unchanged.
func TestSplitCommandProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.String(), 1, 5).Draw(t, "words")
		words[0] = "x" + words[0]
		var quoted []string
		for _, word := range words {
			quoted = append(quoted, "'"+strings.ReplaceAll(word, "'", `'\''`)+"'")
		}
		got, err := app.SplitCommand(strings.Join(quoted, " "))
		if diff := cmp.Diff(words, got); err != nil || diff != "" {
			t.Fatal(err, diff)
		}
	})
}

// TestSecretsInCommandsHaveNotes checks that there is a note about a secret in a command, and that the note does not
// contain the secret.
func TestSecretsInCommandsHaveNotes(t *testing.T) {
	t.Parallel()
	for script, warned := range map[string]bool{"run.sh --db mysql://me:hunter2@host/db": true,
		"run.sh --db mysql://host/db": false,
		"mysqldump -phunter2 db":      true, "run.sh --db-password hunter2": true, "run.sh --password-file /hunter2": false} {
		notes := strings.Join(app.Config{BootstrapScript: script}.ExposureNotes(), "")
		if strings.Contains(notes, "bootstrapScript has a password or token in it") != warned ||
			strings.Contains(notes, "hunter2") {
			t.Errorf("%s: %q", script, notes)
		}
	}
}
