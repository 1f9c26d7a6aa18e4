package isolation

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func TestAccountFor(t *testing.T) {
	t.Parallel()
	const other, nobody = 12345, 65534
	for _, c := range []struct {
		name string
		uid  int
		as   int // -1 for none
		want string
	}{
		{"", other, -1, ""},
		{"", 0, -1, "--run-as root"},
		{"root", 0, -1, ""},
		{"0", 0, -1, ""},
		{"nobody", 0, nobody, ""},
		{"65534", 0, nobody, ""},
		{"nobody", nobody, -1, ""},
		{"nobody", other, -1, "only root can run processes as another user"},
		{"root", other, -1, "only root can run processes as another user"},
		{"no-such-user", 0, -1, "not known on this machine"},
		{"4294967290", 0, -1, "not known on this machine"},
		{"99999999999999", 0, -1, "not known on this machine"},
	} {
		as, err := AccountFor(c.name, c.uid)
		switch {
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)), c.want == "" && err != nil:
			t.Errorf("%q for %d: %v, want %q", c.name, c.uid, err, c.want)
		case (as != nil) != (c.as >= 0) || as != nil && int(as.UID) != c.as:
			t.Errorf("%q for %d: %+v, want %d", c.name, c.uid, as, c.as)
		}
	}
}

func TestMayEnter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	own, group := uint32(os.Geteuid()), uint32(os.Getegid())
	for _, c := range []struct {
		mode fs.FileMode
		as   Account
		want bool
	}{
		{0o700, Account{UID: own + 1, Groups: []uint32{group + 1}}, false},
		{0o710, Account{UID: own + 1, Groups: []uint32{group + 1}}, false},
		{0o711, Account{UID: own + 1, Groups: []uint32{group + 1}}, true},
		{0o710, Account{UID: own + 1, Groups: []uint32{group + 1, group}}, true},
		{0o701, Account{UID: own + 1, Groups: []uint32{group}}, false}, // only the group's bits apply
	} {
		if err := os.Chmod(dir, c.mode); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.as.mayEnter(info); got != c.want {
			t.Errorf("mode %04o, %+v: %t", c.mode, c.as, got)
		}
	}
}

func TestCheckEntryNamesTheFolder(t *testing.T) {
	t.Parallel()
	closed := filepath.Join(t.TempDir(), "closed")
	inside := filepath.Join(closed, "a", "b")
	if err := errors.Join(os.MkdirAll(inside, 0o755), os.Chmod(filepath.Dir(closed), 0o755),
		os.Chmod(filepath.Dir(filepath.Dir(closed)), 0o755), os.Chmod(closed, 0o700)); err != nil {
		t.Fatal(err)
	}
	as := &Account{Name: "somebody", UID: uint32(os.Geteuid()) + 1, Groups: []uint32{uint32(os.Getegid()) + 1}}
	if err := as.CheckEntry(inside); err == nil ||
		!strings.Contains(err.Error(), "user somebody can't enter "+closed+" ") {
		t.Errorf("unexpected error %v", err)
	}
	if err := as.CheckEntry(filepath.Dir(closed)); err != nil {
		t.Errorf("unexpected error %v", err)
	}
	if err := (*Account)(nil).CheckEntry(closed); err != nil {
		t.Errorf("this process itself: %v", err)
	}
}

// TestAsRootDoHasTheAccountsRights: Do calls its function with the account's rights, and other goroutines keep
// theirs.
func TestAsRootDoHasTheAccountsRights(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("this needs root: make ci ONLY=root runs it")
	}
	as, err := Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	his, secret := filepath.Join(dir, "his"), filepath.Join(dir, "secret")
	if err := errors.Join(os.Chmod(dir, 0o711), os.Chmod(filepath.Dir(dir), 0o711), os.Mkdir(his, 0o700),
		os.Chown(his, int(as.UID), int(as.GID)), os.WriteFile(secret, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	var working sync.WaitGroup
	for i := range 50 {
		working.Go(func() {
			file := filepath.Join(his, "file"+string(rune('A'+i)))
			if err := as.Do(func() error { return os.WriteFile(file, nil, 0o600) }); err != nil {
				t.Error(err)
			}
			if info, err := os.Stat(file); err != nil || info.Sys().(*syscall.Stat_t).Uid != as.UID {
				t.Errorf("it belongs to %+v, %v", info, err)
			}
			for _, f := range []func() error{
				func() error { return os.WriteFile(filepath.Join(dir, "planted"), nil, 0o600) },
				func() error { _, err := os.ReadFile(secret); return err },
				func() error { return os.Chmod(dir, 0o777) },
				func() error { return os.Remove(secret) },
			} {
				if err := as.Do(f); !errors.Is(err, fs.ErrPermission) {
					t.Errorf("it may do what root may: %v", err)
				}
			}
			if _, err := os.ReadFile(secret); err != nil {
				t.Errorf("root may not any more: %v", err)
			}
		})
	}
	working.Wait()
}
