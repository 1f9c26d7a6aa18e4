package commands

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestHelpGroupsFlags: each flag is in one group, frequently used ones come first, and no line about a flag is too
// long.
func TestHelpGroupsFlags(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	cmd := New()
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"--help"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	_, flags, _ := strings.Cut(out.String(), "Available Commands:\n")
	var groups, named []string
	for line := range strings.Lines(flags) {
		if len([]rune(line)) > 121 {
			t.Errorf("%q is longer than 120 columns", line)
		}
		if name, ok := strings.CutSuffix(line, ":\n"); ok && !strings.HasPrefix(line, " ") {
			groups = append(groups, name)
		} else if at := strings.Index(line, "--"); at >= 0 && at <= 6 {
			named = append(named, strings.Fields(line[at+2:])[0])
		}
	}
	want := []string{"Cluster", "State", "API and access", "Jobs", "History", "Other"}
	if !slices.Equal(groups, want) {
		t.Errorf("groups %q, want %q", groups, want)
	}
	if !slices.Equal(named[:3], []string{"local", "mesos", "kubernetes"}) {
		t.Errorf("the first flags are %q", named[:3])
	}
	var all []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { all = append(all, f.Name) })
	slices.Sort(all)
	slices.Sort(named)
	if !slices.Equal(named, all) {
		t.Errorf("--help has %q,\nthe command %q", named, all)
	}
}
