package isolation

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// With these variables the test binary starts a script from which places are hidden. placesVariable has the places,
// scriptVariable the script, and mountsVariable the mounts to make before that, as pairs of source and target.
// againVariable has places that the program then hides from a further program, as executors hide some from tasks.
const (
	placesVariable = "ISOLATION_TEST_PLACES"
	scriptVariable = "ISOLATION_TEST_SCRIPT"
	mountsVariable = "ISOLATION_TEST_MOUNTS"
	againVariable  = "ISOLATION_TEST_AGAIN"
)

// TestFixedFiles: a fixed program can be executed, but neither written to nor replaced, and no folder on the way to
// it can be replaced. The user can change the other files in its folder.
func TestFixedFiles(t *testing.T) {
	t.Parallel()
	const program = "#!/bin/sh\necho original\n"
	const inNamespace = `unshare --user --map-root-user --mount sh -c '%s'`
	for name, attack := range map[string]string{
		"nothing":      `:`,
		"writes to it": `cd top/bin; echo evil >executor; chmod 777 executor; truncate -s 0 executor`,
		"puts a file in its place": `echo evil >new; e=top/bin/executor; mv -f new $e; ln -f work/mine $e
			ln -sf $PWD/work/mine $e
			cp --remove-destination work/mine $e`,
		"moves and removes it":   `mv top/bin/executor away; rm -f top/bin/executor`,
		"moves its folder":       `mv top/bin away && mkdir top/bin`,
		"moves the folder above": `mv top away && mkdir -p top/bin`,
		"removes its folder":     `rm -rf top; mkdir -p top/bin`,
		"links to it":            `ln top/bin/executor work/link && echo evil >work/link`,
		"exchanges folders": `mkdir -p other/bin
			python3 -c 'import ctypes; ctypes.CDLL(None).renameat2(-100, b"other", -100, b"top", 2)'`,
		"unmounts it": fmt.Sprintf(inNamespace, `umount top/bin/executor; umount -l top/bin/executor
			umount -l top/bin; umount -l top
			echo evil >top/bin/executor; mv top away`),
		"mounts it writable": fmt.Sprintf(inNamespace, `mount -o remount,bind,rw top/bin/executor
			echo evil >top/bin/executor`),
		"mounts the folder elsewhere": fmt.Sprintf(inNamespace, `mkdir m
			mount --bind top m && echo evil >m/bin/executor
			mount --bind . m && echo evil >m/top/bin/executor
			mount --rbind . m && echo evil >m/top/bin/executor`),
	} {
		for _, uid := range uids() {
			t.Run(fmt.Sprintf("%s as %d", name, uid), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, uid)
				w.file("top/bin/executor", program)
				executor := w.path("top/bin/executor")
				before, err := os.Lstat(executor)
				if err != nil {
					t.Fatal(err)
				}
				said, err := w.run(Places{Fixed: []string{executor, w.path("not/there")}},
					`(`+attack+`) >/dev/null 2>&1; top/bin/executor; echo mine >top/bin/mine && cat top/bin/mine`)
				if err != nil || said != "original\nmine\n" {
					t.Errorf("the script wrote %q, %v", said, err)
				}
				now, err := os.Lstat(executor)
				if err != nil || !os.SameFile(before, now) || now.Mode() != before.Mode() {
					t.Fatalf("the file is %v, %v, and was %v", now, err, before)
				}
				if text, err := os.ReadFile(executor); err != nil || string(text) != program {
					t.Errorf("it has %q, %v", text, err)
				}
			})
		}
	}
}

// leaveMounts replaces top/bin/executor and moves top, in a new mount namespace without the mounts that protect
// them: it unmounts everything except for a new mount, and uses folders that it has opened before.
const leaveMounts = `
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
here, bin = os.open(".", os.O_RDONLY), os.open("top/bin", os.O_RDONLY)
new = os.path.abspath("work").encode()
libc.mount(b"new", new, b"tmpfs", 0, None)
os.mkdir(new + b"/old")
libc.pivot_root(new, new + b"/old")
os.chdir("/")
libc.umount2(b"/old", 2)
os.close(os.open("evil", os.O_CREAT | os.O_WRONLY, 0o755, dir_fd=bin))
os.rename("evil", "executor", src_dir_fd=bin, dst_dir_fd=bin)
os.rename("top", "away", src_dir_fd=here, dst_dir_fd=here)
`

// TestNoNested: the mounts that keep a program in its place protect it only in their own mount namespace. With NoNested
// no process can create another mount namespace; without it, a process can replace the program.
func TestNoNested(t *testing.T) {
	t.Parallel()
	for _, uid := range uids() {
		for _, noNested := range []bool{true, false} {
			t.Run(fmt.Sprintf("as %d, NoNested %t", uid, noNested), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, uid)
				w.file("top/bin/executor", "original")
				w.file("leave.py", leaveMounts)
				said, err := w.run(Places{Fixed: []string{w.path("top/bin/executor")}, NoNested: noNested},
					`unshare --user --map-root-user --mount python3 leave.py || echo no namespace`)
				if err != nil || strings.Contains(said, "no namespace") != noNested {
					t.Errorf("the script wrote %q, %v", said, err)
				}
				text, err := os.ReadFile(w.path("top/bin/executor"))
				if kept := err == nil && string(text) == "original"; kept != noNested {
					t.Errorf("the program has %q, %v", text, err)
				}
			})
		}
	}
}

// TestHiddenFiles: a file is hidden by its identity at the time when it was named. If another file has its name,
// nothing is started, because the right one could be visible under another name.
func TestHiddenFiles(t *testing.T) {
	t.Parallel()
	const another = "its name refers to another file"
	for name, c := range map[string]struct {
		change func(w world) error // made between the naming and the start
		file   string
		hasID  bool   // whether the identity is given
		want   string // part of the error
	}{
		"as it was":                  {file: "conf/secret", hasID: true},
		"replaced":                   {file: "conf/secret", hasID: true, change: replace, want: another},
		"gone":                       {file: "conf/secret", hasID: true, change: remove, want: another},
		"in the hidden folder":       {file: "above/data/secret", hasID: true},
		"replaced, any is meant":     {file: "conf/secret", change: replace},
		"gone, any is meant":         {file: "conf/secret", change: remove},
		"a link, any is meant":       {file: "conf/link"},
		"a link to what isn't there": {file: "conf/dead"},
	} {
		for _, uid := range uids() {
			t.Run(fmt.Sprintf("%s as %d", name, uid), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, uid)
				w.file("conf/secret", "hush")
				w.file("above/data/secret", "hush")
				err := errors.Join(os.Symlink("secret", w.path("conf/link")), os.Symlink("none", w.path("conf/dead")))
				if err != nil {
					t.Fatal(err)
				}
				file, err := os.Open(w.path("above/data/secret"))
				if c.file == "conf/secret" {
					file, err = os.Open(w.path(c.file))
				}
				if err != nil {
					t.Fatal(err)
				}
				defer file.Close()
				id, err := IdentityOf(file)
				if c.change != nil {
					err = errors.Join(err, c.change(w))
				}
				if err != nil {
					t.Fatal(err)
				}
				places := Places{Files: []string{w.path(c.file), w.path("conf/link"), w.path(c.file)}}
				if c.hasID {
					places.FileIDs = map[string]Identity{w.path(c.file): id}
				}
				said, err := w.run(places, `cat conf/secret above/data/secret; cat work/mine`)
				switch {
				case c.want != "" && (err == nil || !strings.Contains(said, c.want)):
					t.Errorf("the script wrote %q, %v, want %q", said, err, c.want)
				case c.want == "" && (err != nil || !strings.HasSuffix(said, "mine")):
					t.Errorf("the script wrote %q, %v", said, err)
				case strings.Contains(said, "hush") && c.file != "conf/dead" && c.file != "above/data/secret":
					t.Errorf("the script read the hidden file: %q", said)
				}
			})
		}
	}
}

// TestMountedTwice: if a file system, or a part of it, is mounted a second time, hidden and fixed places in it are
// hidden and fixed under all of their names.
func TestMountedTwice(t *testing.T) {
	t.Parallel()
	for name, mount := range map[string][2]string{
		"all of it":                     {".", "other place"},
		"the folder above":              {"above", "other place"},
		"the hidden folder":             {"above/data", "other place"},
		"a part of the hidden folder":   {"above/data/cluster", "other place"},
		"into the hidden folder":        {"big", "above/data/cluster"},
		"the folder of files":           {"conf", "other place"},
		"a file":                        {"conf/secret", "other file"},
		"a file into the hidden folder": {"big/key", "above/data/registry.db"},
		"the program":                   {"bin/executor", "other file"},
		"only the folder beside it":     {"work", "other place"},
	} {
		for i, uid := range append(uids(), uids()...) {
			again := i >= len(uids())
			t.Run(fmt.Sprintf("%s as %d, again %t", name, uid, again), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, uid)
				w.again = again
				for file, text := range map[string]string{
					"above/data/cluster/key": "hush", "conf/secret": "hush", "big/key": "big",
					"bin/executor": "original",
					"other file":   "other", "other place/nothing": "",
				} {
					w.file(file, text)
				}
				if strings.HasPrefix(mount[0], "big") {
					w.file("big/key", "hush")
				}
				w.mounts = [][2]string{{w.path(mount[0]), w.path(mount[1])}}
				places := Places{Files: []string{w.path("conf/secret")}, Fixed: []string{w.path("bin/executor")}}
				said, err := w.run(places, `exec 2>/dev/null
					find . 'other place' -type f -exec cat {} +; echo evil >'other file'
					find . 'other place' -name executor | while read -r f; do echo evil >"$f"; done
					cat work/mine bin/executor`)
				if err != nil || strings.Contains(said, "hush") || !strings.HasSuffix(said, "mineoriginal") {
					t.Errorf("the script wrote %q, %v", said, err)
				}
			})
		}
	}
}

func replace(w world) error {
	return errors.Join(os.Rename(w.path("conf/secret"), w.path("conf/old")),
		os.WriteFile(w.path("conf/secret"), []byte("new"), 0o644))
}

func remove(w world) error { return os.Remove(w.path("conf/secret")) }

// TestHides: whether an open file is hidden does not depend on the name by which it was opened.
func TestHides(t *testing.T) {
	t.Parallel()
	w := newWorld(t, os.Geteuid())
	w.file("conf/secret", "hush")
	if err := os.Link(w.path("conf/secret"), w.path("work/link")); err != nil {
		t.Fatal(err)
	}
	secret, err := os.Open(w.path("conf/secret"))
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	id, err := IdentityOf(secret)
	if err != nil {
		t.Fatal(err)
	}
	path := w.path("conf/secret")
	places := &Places{Folder: w.path("above/data"), Files: []string{path}, FileIDs: map[string]Identity{path: id}}
	for name, want := range map[string]bool{
		"conf/secret": true, "work/link": true, "above/data/registry.db": true, "work/mine": false,
	} {
		file, err := os.Open(w.path(name))
		if err != nil {
			t.Fatal(err)
		}
		if got := places.Hides(file); got != want {
			t.Errorf("%s: %t", name, got)
		}
		if (*Places)(nil).Hides(file) {
			t.Errorf("%s is hidden by nothing", name)
		}
		_ = file.Close()
	}
}
