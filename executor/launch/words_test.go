package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExplainOfAFailedCommand: only files are named without which the command can't have run.
func TestExplainOfAFailedCommand(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, content := range map[string]string{
		"good.sh": "#!/bin/sh\n", "dos.py": "#!/usr/bin/env python3\r\n", "text.sh": "exit 3\n", "lib/app.jar": "PK",
		"env.py": "#!/usr/bin/env -S nosuchpython -u\n", "conf/app.yml": "x", "dos.sh": "#!/bin/sh\r\n",
		"path.py": "#!/usr/bin/env /opt/python\n", "set.py": "#!/usr/bin/env -S A=b nosuchpython\n", "env.sh": "#!/usr/bin/env sh\n",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for command, want := range map[string]string{
		"good.sh":                             "",
		"env.sh":                              "",
		"text.sh":                             "",
		"dos.py --x":                          "the first line of dos.py ends with a carriage return: save the script with Unix line ends",
		"./dos.py":                            "the first line of ./dos.py ends with a carriage return",
		"env.py":                              `the first line of env.py names "nosuchpython", which is not in the PATH of this agent (/usr/bin:/bin): install it, or name another interpreter`,
		"path.py":                             "",
		"set.py":                              "", // perhaps A is for the search
		"java -jar lib/ap.jar":                "lib/ap.jar is not in the package; did you mean lib/app.jar?",
		"java -jar app.zap":                   "app.zap is not in the package, which holds",
		"java -jar whole.jar":                 "",
		"java -jar whale.jar":                 "whale.jar is not in the package; did you mean whole.jar, the package itself?",
		"python3 goo.sh":                      "goo.sh is not in the package; did you mean good.sh?",
		"sh dos.sh":                           "the first line of dos.sh ends with a carriage return",
		"good.sh app.yml dos.sh":              "", // the program may know what to do with them
		"sh -c 'curl -o a.sh x && sh a.sh'":   "",
		"sh -c 'sh god.sh && curl -o a.sh x'": "god.sh is not in the package; did you mean good.sh?",
		"/bin/sh /no/such":                    "",
	} {
		words := strings.Fields(command)
		if _, script, ok := strings.Cut(command, "sh -c '"); ok {
			words = []string{"sh", "-c", strings.TrimSuffix(script, "'")}
		}
		if strings.HasSuffix(command, "whole.jar") {
			if err := os.WriteFile(filepath.Join(root, "whole.jar"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got := Words{Dir: root, Root: root, File: "whole.jar"}.Explain(words, "/usr/bin:/bin", nil)
		if strings.HasSuffix(command, "whole.jar") {
			_ = os.Remove(filepath.Join(root, "whole.jar"))
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}
