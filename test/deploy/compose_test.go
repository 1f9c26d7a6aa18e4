package deploy_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestSetupOfCompose runs the setup service of docker-compose.yml twice with a real ZooKeeper. The second start does
// not change the secrets of the first. A server accepts them, and that of Prometheus permits nothing but reading
// metrics.
func TestSetupOfCompose(t *testing.T) {
	t.Parallel()
	c := system.NewCluster(t, bin, 1, nil)
	dir := t.TempDir()
	var first map[string]string
	for range 2 {
		setup := exec.Command("sh", "../../deploy/compose/setup.sh")
		setup.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SECRETS=" + dir,
			"SCHEDULER=" + bin.Scheduler(), "ZK=" + c.ZK}
		if out, err := setup.CombinedOutput(); err != nil {
			t.Fatalf("setup.sh: %v\n%s", err, out)
		}
		made := secrets(t, dir)
		if first == nil {
			first = made
		}
		for _, name := range []string{"api-token", "zk-digest", "mysql-password", "mysql-root-password", "db-dsn",
			"grafana-password", "prometheus-token"} {
			if len(made[name]) < 30 || made[name] != first[name] {
				t.Errorf("%s has %d bytes, want 30 at least; it is unchanged: %t", name, len(made[name]),
					made[name] == first[name])
			}
		}
	}
	c.StartServer(1, "--zk-digest-file", filepath.Join(dir, "zk-digest"), "--api-token-file",
		filepath.Join(dir, "api-token"))
	c.AwaitLeader()
	for _, r := range []struct {
		token, path string
		status      int
	}{
		{"", "/metrics", http.StatusUnauthorized},
		{"prometheus-token", "/metrics", http.StatusOK},
		{"prometheus-token", "/api/app/list", http.StatusForbidden},
		{"api-token", "/api/app/list", http.StatusOK},
	} {
		if a := c.Call("GET", r.path, "", "Authorization: Bearer "+first[r.token]); a.Status != r.status {
			t.Errorf("GET %s with %q: %d %s, want %d", r.path, r.token, a.Status, a.Body, r.status)
		}
	}
}

// secrets reads the files in a folder, and checks that only their owner may read them.
func secrets(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	content := map[string]string{}
	for _, file := range files {
		if info, err := file.Info(); err != nil || info.Mode().IsRegular() && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", file.Name(), info.Mode(), err)
		}
		if file.Type().IsRegular() {
			content[file.Name()] = read(t, filepath.Join(dir, file.Name()))
		}
	}
	return content
}
