package guard

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
)

// TestHeldFiles: the file that a path named at the start stays hidden even if a link is changed later, and the file
// that the link names now is hidden too. A different file is accepted under the old path only if the old file has no
// name any more.
func TestHeldFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		named  string
		change func(dir string) error
		want   string // the hidden files; * marks those that must be the same file as before
	}{
		"a file":             {named: "file", want: "file*"},
		"a link":             {named: "link", want: "file* link"},
		"another link":       {named: "link", want: "file* link", change: relink("other")},
		"a dead link":        {named: "link", want: "file* link", change: relink("none")},
		"renamed to":         {named: "file", want: "file", change: move("other", "file")},
		"moved":              {named: "file", want: "file*", change: move("file", "away")},
		"removed":            {named: "file", want: "file", change: removeFile},
		"not there":          {named: "none", want: "none"},
		"not there at first": {named: "none", want: "none", change: move("file", "none")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			err := errors.Join(os.WriteFile(dir+"/file", nil, 0o600), os.WriteFile(dir+"/other", nil, 0o600),
				os.Symlink("file", dir+"/link"))
			if err != nil {
				t.Fatal(err)
			}
			held, err := Hold([]string{filepath.Join(dir, c.named)})
			if err != nil {
				t.Fatal(err)
			}
			defer held.Close()
			if c.change != nil {
				if err := c.change(dir); err != nil {
					t.Fatal(err)
				}
			}
			p := held.HiddenWith(isolation.Places{})
			var got []string
			for _, path := range p.Files {
				name := filepath.Base(path)
				if p.FileIDs[path] != (isolation.Identity{}) {
					name += "*"
				}
				got = append(got, name)
			}
			slices.Sort(got)
			if all := strings.Join(got, " "); all != c.want {
				t.Errorf("hidden are %q, want %q", all, c.want)
			}
		})
	}
}

func relink(to string) func(dir string) error {
	return func(dir string) error {
		return errors.Join(os.Remove(dir+"/link"), os.Symlink(to, dir+"/link"))
	}
}

func removeFile(dir string) error { return os.Remove(filepath.Join(dir, "file")) }

func move(from, to string) func(dir string) error {
	return func(dir string) error { return os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)) }
}
