package kubernetesserver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Kubectl is a kubectl program.
type Kubectl struct {
	// Input is the text that kubectl reads from its standard input.
	Input string
	path  string
}

// BuildKubectl builds kubectl into a folder. That takes two minutes the first time on a machine, and seconds later.
func BuildKubectl(dir string) (Kubectl, error) {
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return Kubectl{}, fmt.Errorf("find the module: %w", err)
	}
	k := Kubectl{path: filepath.Join(dir, "kubectl")}
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", k.path, ".")
	cmd.Dir = filepath.Join(filepath.Dir(strings.TrimSpace(string(mod))), "tools", "kubectl")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as in make build, so that shared packages are compiled once
	if out, err := cmd.CombinedOutput(); err != nil {
		return Kubectl{}, fmt.Errorf("build kubectl: %w\n%s", err, out)
	}
	return k, nil
}

// Try runs kubectl as an administrator of a Kubernetes, and returns its output, including standard error.
func (k Kubectl) Try(t testing.TB, c *Cluster, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(k.path, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "KUBECONFIG=" + c.Kubeconfig()}
	cmd.Stdin = strings.NewReader(k.Input)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Run runs kubectl like Try, and fails the test if kubectl fails.
func (k Kubectl) Run(t testing.TB, c *Cluster, args ...string) string {
	t.Helper()
	out, err := k.Try(t, c, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}
