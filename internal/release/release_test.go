package release

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestCommitOf(t *testing.T) {
	t.Parallel()
	stamped := func(pairs ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{}
		for i := 0; i < len(pairs); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
		}
		return info
	}
	for _, c := range []struct {
		name   string
		linked string
		info   *debug.BuildInfo
		want   string
	}{
		{"the linker's", "abc", stamped("vcs.revision", "def"), "abc"},
		{"stamped", "", stamped("vcs.revision", "def", "vcs.modified", "false"), "def"},
		{"stamped, with changes", "", stamped("vcs.revision", "def", "vcs.modified", "true"), "def-dirty"},
		{"built outside of git", "", stamped(), "unknown"},
		{"built without module support", "", nil, "unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := commitOf(c.linked, c.info); got != c.want {
				t.Errorf("commit %q, want %q", got, c.want)
			}
		})
	}
}

func TestTextHasFourLines(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSuffix(Text("scheduler"), "\n"), "\n")
	if len(lines) != 4 || lines[0] != "scheduler dev" || !strings.HasPrefix(lines[1], "commit ") ||
		!strings.HasPrefix(lines[2], "go") || !strings.Contains(lines[3], "/") {
		t.Errorf("--version prints %q", lines)
	}
}
