package spelling_test

import (
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/internal/spelling"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	fields := []string{"cpuCount", "memoryMB", "appName", "appURL"}
	for name, want := range map[string]string{
		"cpuCount": "cpuCount", "cpu_count": "cpuCount", "CPU-COUNT": "cpuCount", "cpuCounts": "cpuCount",
		"memory": "memoryMB",
		"appUrl": "appURL", "appNam": "appName", "": "", "colour": "", "cpu": "",
	} {
		if got := spelling.Nearest(name, fields); got != want {
			t.Errorf("Nearest(%q) is %q, want %q", name, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"abc", "abc", 0}, {"abc", "axc", 1}, {"abc", "ac", 1}, {"kitten", "sitting", 3},
		{strings.Repeat("a", 64), strings.Repeat("a", 70), 6},
	} {
		if got := spelling.Distance(c.a, c.b); got != c.want {
			t.Errorf("Distance(%q, %q) is %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
