package app

import (
	"strings"
	"testing"
)

// TestLenientApps checks that Check accepts the result for documents that the original ran, and that each change has a
// note.
func TestLenientApps(t *testing.T) {
	t.Parallel()
	good := Default()
	good.AppName, good.AppURL, good.BootstrapScript = "my_app", "http://host/app.tar.gz", "bin/start.sh"
	for name, test := range map[string]struct {
		change func(*Config)
		note   string
		script []string
	}{
		"nothing":          {func(*Config) {}, "", []string{"bin/start.sh"}},
		"two commands":     {func(c *Config) { c.BootstrapScript = "cd app && ./start.sh 'it''s'" }, "run by a shell", []string{"/bin/sh", "-c", "cd app && ./start.sh 'it''s'"}},
		"a variable":       {func(c *Config) { c.BootstrapScript = "$JAVA_HOME/bin/java -jar a.jar" }, "unquoted '$'", []string{"/bin/sh", "-c", "$JAVA_HOME/bin/java -jar a.jar"}},
		"a redirection":    {func(c *Config) { c.BootstrapScript = "bin/start.sh > out.log 2>&1" }, "unquoted '>'", []string{"/bin/sh", "-c", "bin/start.sh > out.log 2>&1"}},
		"a set variable":   {func(c *Config) { c.BootstrapScript = "LANG=C bin/start.sh" }, "begins with a variable", []string{"/bin/sh", "-c", "LANG=C bin/start.sh"}},
		"lines":            {func(c *Config) { c.BootstrapScript = "cd app\n./start.sh" }, "line break", []string{"/bin/sh", "-c", "cd app\n./start.sh"}},
		"the manual's":     {func(c *Config) { c.BootstrapScript = `bin\start.sh` }, "is read as bin/start.sh", []string{"bin/start.sh"}},
		"no CPU":           {func(c *Config) { c.CPUCount = 0 }, "cpuCount 0 is read as 0.001", nil},
		"little memory":    {func(c *Config) { c.MemoryMB = 0.5 }, "memoryMB 0.5 is read as 1", nil},
		"blanks":           {func(c *Config) { c.AppURL = " http://host/app.tar.gz\n" }, "without the blanks", nil},
		"negative samples": {func(c *Config) { c.EventTraceSamplingCount = -1 }, "read as 0", nil},
	} {
		c := good
		test.change(&c)
		got, notes := c.Lenient()
		if bad := got.Check(CheckOptions{}); len(bad) > 0 {
			t.Errorf("%s: %v", name, bad)
		}
		if text := strings.Join(notes, "\n"); !strings.Contains(text, test.note) || test.note == "" && text != "" {
			t.Errorf("%s: notes %q, want %q", name, notes, test.note)
		}
		words, err := SplitCommand(got.BootstrapScript)
		if test.script != nil && (err != nil || strings.Join(words, "|") != strings.Join(test.script, "|")) {
			t.Errorf("%s: %q, %v", name, words, err)
		}
	}
	for name, change := range map[string]func(*Config){
		"a quote that is never closed": func(c *Config) { c.BootstrapScript = "bin/start.sh 'a" },
		"no script":                    func(c *Config) { c.BootstrapScript = "" },
		"a negative amount":            func(c *Config) { c.MemoryMB = -1 },
		"no resources":                 func(c *Config) { c.CPUCount, c.MemoryMB = 0, 0 },
	} {
		c := good
		change(&c)
		if got, _ := c.Lenient(); len(got.Check(CheckOptions{})) == 0 {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestSplitCommandReadsBackslashesInPaths(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`bin\start.sh`: "bin/start.sh", `.\bin\start.sh -v`: "./bin/start.sh|-v", `bin\\start.sh`: "bin/start.sh",
		`sh bin\start.sh`: "sh|bin/start.sh", `bin\my\ job.sh`: "bin/my job.sh", `grep \d`: "grep|d",
		`'bin\x' a`: `bin\x|a`, `a\'b`: "a'b", `bin\_x`: "bin/_x",
	} {
		if words, err := SplitCommand(line); err != nil || strings.Join(words, "|") != want {
			t.Errorf("%s: %q, %v", line, words, err)
		}
	}
	words := []string{"it's", "", `a\b`, "$x", "plain", "-x=1"}
	if got, err := SplitCommand(JoinCommand(words)); err != nil || strings.Join(got, "|") != strings.Join(words, "|") {
		t.Errorf("%q, %v", got, err)
	}
}
