package settings

import (
	"os"
	"path/filepath"
	"testing"
)

// TestAccountNamespace checks that a server reads its own namespace, so that it can warn if jobs run there too.
func TestAccountNamespace(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "namespace")
	if name := accountNamespace(file); name != "" {
		t.Errorf("outside of pods it is %q", name)
	}
	if err := os.WriteFile(file, []byte("elasticjob\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if name := accountNamespace(file); name != "elasticjob" {
		t.Errorf("in a pod it is %q", name)
	}
}
