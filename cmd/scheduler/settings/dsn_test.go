package settings

import (
	"os"
	"strings"
	"testing"
)

// TestAddressThatWasNotFilledIn: the error about the placeholder names the file to edit, and contains nothing that
// may be a password.
func TestAddressThatWasNotFilledIn(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("../../../deploy/kubernetes/database.env")
	if err != nil {
		t.Fatal(err)
	}
	_, address, found := strings.Cut(string(file), "\nELASTICJOB_REGISTRY=")
	if !found {
		t.Fatal("deploy/kubernetes/database.env names no registry")
	}
	address, _, _ = strings.Cut(address, "\n")
	for _, address := range []string{address, strings.Replace(address, "PASSWORD", "hunter2", 1)} {
		for _, variable := range []string{"ELASTICJOB_REGISTRY", "ELASTICJOB_DB"} {
			w := newWorld(t)
			w.env = map[string]string{variable: address}
			_, err := w.settings("--kubernetes", "--kubeconfig", "testdata/kubeconfig")
			want := variable + ": the address is still to be filled in: fill in database.env"
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s=%s: %v", variable, address, err)
			}
		}
	}
}
