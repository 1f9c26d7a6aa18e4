// Package deploy_test checks the files in deploy/ with the programs that read them, such as nginx, systemd-analyze and
// a Kubernetes API server.
package deploy_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

var bin system.Binaries

func TestMain(m *testing.M) {
	status := system.Main(m, &bin, 2)
	if kubectlDir != "" {
		_ = os.RemoveAll(kubectlDir) // an error leaves only a temporary folder
	}
	os.Exit(status)
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// replace replaces texts that must exist.
func replace(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("there is no %q in\n%s", pairs[i], text)
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}

// program finds a program that may only be in root's PATH; "" if there is none.
func program(t *testing.T, name string) string {
	t.Helper()
	for _, path := range []string{name, "/usr/sbin/" + name, "/usr/local/sbin/" + name} {
		if found, err := exec.LookPath(path); err == nil {
			return found
		}
	}
	return ""
}
