package settings

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDefaultDataDirOfRoot(t *testing.T) {
	t.Parallel()
	there, none := t.TempDir(), filepath.Join(t.TempDir(), "none")
	me := os.Geteuid()
	for name, c := range map[string]struct {
		own, shared string
		uid         int
		want        string
	}{
		"nothing is there":            {none, none + "-shared", me, none + "-shared"},
		"an earlier release's":        {there, none, me, there},
		"both are there":              {there, there + "/..", me, there},
		"the shared one is root's":    {none, there, me, there},
		"the shared one is another's": {none, there, me + 1, none},
		"no home is known":            {"", there, me + 1, there},
	} {
		if got := dataDirOfRoot(c.own, c.shared, c.uid); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
