package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestUnits: systemd accepts the units, and rates their exposure as intended.
func TestUnits(t *testing.T) {
	t.Parallel()
	analyze := program(t, "systemd-analyze")
	if analyze == "" && os.Getenv("CI") != "" {
		t.Fatal("there is no systemd-analyze: type tools/prepare")
	}
	if analyze == "" {
		t.Skip("there is no systemd-analyze: this is no machine that the units are for")
	}
	for unit, limit := range map[string]float64{"elasticjob.service": 1.5, "elasticjob-local.service": 4} {
		t.Run(unit, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			// The program that the unit names is not installed on this machine.
			text := replace(t, read(t, filepath.Join("../../deploy/systemd", unit)), "/opt/elasticjob/scheduler",
				bin.Scheduler())
			path := filepath.Join(dir, unit)
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command(analyze, "verify", "--man=no", path).CombinedOutput(); err != nil ||
				strings.Contains(string(out), unit) {
				t.Errorf("systemd-analyze verify: %v\n%s", err, out)
			}
			out, err := exec.Command(analyze, "security", "--offline=true", "--no-pager", path).CombinedOutput()
			found := regexp.MustCompile(`Overall exposure level for \S+: ([0-9.]+)`).FindSubmatch(out)
			if err != nil || found == nil {
				t.Fatalf("systemd-analyze security: %v\n%s", err, out)
			}
			t.Logf("exposure of %s: %s", unit, found[1])
			if level, err := strconv.ParseFloat(string(found[1]), 64); err != nil || level > limit {
				t.Errorf("exposure %s, want at most %v\n%s", found[1], limit, out)
			}
		})
	}
}
