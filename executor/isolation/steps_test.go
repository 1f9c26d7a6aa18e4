package isolation

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckProtected: CheckProtected refuses a folder or file that another user can rename, replace or write to, by the
// rights to it, to a folder above it, or to a link to it.
func TestCheckProtected(t *testing.T) {
	t.Parallel()
	me, group := uint32(os.Geteuid()), uint32(os.Getegid())
	stranger := Account{Name: "somebody", UID: me + 1, Groups: []uint32{group + 1}}
	member := Account{Name: "somebody", UID: me + 1, Groups: []uint32{group}}
	for name, c := range map[string]struct {
		as           Account
		above, below os.FileMode // of the parent folder and of the folder itself
		link         bool        // it is named by a link in the parent folder
		missing      bool        // it does not exist yet
		file         bool        // it is a file
		want         string      // the name that the user could move, "" for none
	}{
		"closed":                                    {as: stranger, above: 0o700, below: 0o700},
		"open to be read":                           {as: stranger, above: 0o755, below: 0o755},
		"all may write above":                       {as: stranger, above: 0o777, below: 0o700, want: "data"},
		"all may write above, but it is sticky":     {as: stranger, above: 0o777 | os.ModeSticky, below: 0o700},
		"a group that he is not in may write above": {as: stranger, above: 0o770, below: 0o700},
		"his group may write above":                 {as: member, above: 0o770, below: 0o700, want: "data"},
		"he may write into it":                      {as: stranger, above: 0o755, below: 0o777, want: "what is in"},
		"he may, but it is sticky":                  {as: stranger, above: 0o755, below: 0o777 | os.ModeSticky},
		"a link that he can replace":                {as: stranger, above: 0o777, below: 0o700, link: true, want: "link"},
		"a link that he can't":                      {as: stranger, above: 0o755, below: 0o700, link: true},
		"missing, in a closed folder":               {as: stranger, above: 0o755, missing: true},
		"missing, and all may write above":          {as: stranger, above: 0o777, missing: true, want: "what is in"},
		"a closed file":                             {as: stranger, above: 0o755, below: 0o644, file: true},
		"a file that he can replace":                {as: stranger, above: 0o777, below: 0o600, file: true, want: "could move"},
		"a file that he may write to":               {as: stranger, above: 0o755, below: 0o666, file: true, want: "could change"},
		"his own":                                   {as: Account{Name: "somebody", UID: me, Groups: []uint32{group}}, above: 0o700, below: 0o700, want: "Test"},
		"root, to whom all is open":                 {as: Account{Name: "root"}, above: 0o777, below: 0o777},
	} {
		if c.as.UID == 0 && c.want != "" {
			continue // the test runs as root, who controls everything
		}
		top := t.TempDir()
		above, real := filepath.Join(top, "above"), filepath.Join(top, "real")
		data := filepath.Join(above, "data")
		target := data
		if c.link {
			target = real
		}
		err := os.Mkdir(above, 0o700)
		switch {
		case c.file:
			err = errors.Join(err, os.WriteFile(target, nil, 0o600), os.Chmod(target, c.below))
		case !c.missing:
			err = errors.Join(err, os.Mkdir(target, 0o700), os.Chmod(target, c.below))
		}
		if c.link {
			data = filepath.Join(above, "link")
			err = errors.Join(err, os.Symlink(real, data))
		}
		if err = errors.Join(err, os.Chmod(above, c.above)); err != nil {
			t.Fatal(err)
		}
		said := c.as.CheckProtected(data)
		if (said != nil) != (c.want != "") || said != nil && !strings.Contains(said.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, said, c.want)
		}
	}
	if err := (*Account)(nil).CheckProtected("/tmp"); err != nil {
		t.Errorf("this process's own user: %v", err)
	}
}

func TestStepsEnd(t *testing.T) {
	t.Parallel()
	loop := filepath.Join(t.TempDir(), "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	if steps, err := (*Account)(nil).Steps(loop); err == nil || !strings.Contains(err.Error(), "too many") {
		t.Errorf("%d steps, %v", len(steps), err)
	}
}
