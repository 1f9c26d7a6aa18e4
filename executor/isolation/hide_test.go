package isolation

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// These variables make the test binary a program that starts a script where places are hidden from it: placesVariable
// has the places, scriptVariable the script, and mountsVariable what is mounted elsewhere before, from
// and to. againVariable has places that are then hidden within, as executors hide some from tasks.
const (
	placesVariable = "ISOLATION_TEST_PLACES"
	scriptVariable = "ISOLATION_TEST_SCRIPT"
	mountsVariable = "ISOLATION_TEST_MOUNTS"
	againVariable  = "ISOLATION_TEST_AGAIN"
)

func TestMain(m *testing.M) {
	script, inside := os.LookupEnv(scriptVariable)
	places, outside := os.LookupEnv(placesVariable)
	var err error
	switch {
	case outside:
		err = startInside(places, script)
	case inside:
		err = Enter()
		if again, given := os.LookupEnv(againVariable); given && err == nil {
			if err = os.Unsetenv(againVariable); err == nil {
				err = startInside(again, script)
			}
		} else if err == nil {
			err = syscall.Exec("/bin/sh", []string{"sh", "-c", script}, os.Environ())
		}
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// uids are users that a script runs as: this one or, if that is root, two others. One of them has the id that the
// kernel shows for all that have none in a namespace, so that it seems to own the folders of others there.
func uids() []int {
	if uid := os.Geteuid(); uid != 0 {
		return []int{uid}
	}
	const overflow, ordinary = 65534, 60577
	return []int{overflow, ordinary}
}

// world is a folder of a user, in which it may do what it likes, but for what is hidden and fixed.
type world struct {
	t   *testing.T
	dir string
	uid int
	// mounts are folders and files, and where else each is mounted.
	mounts [][2]string
	// again says that the folder is hidden once more, within.
	again bool
}

func newWorld(t *testing.T, uid int) world {
	t.Helper()
	w := world{t: t, dir: t.TempDir(), uid: uid}
	if err := os.Chmod(filepath.Dir(w.dir), 0o755); err != nil {
		t.Fatal(err)
	}
	w.file("above/data/registry.db", "hush")
	w.file("work/mine", "mine")
	return w
}

func (w world) path(name string) string { return filepath.Join(w.dir, name) }

// file makes a program with the folders above it.
func (w world) file(name, text string) {
	w.t.Helper()
	path := w.path(name)
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755))
	if err != nil {
		w.t.Fatal(err)
	}
}

// own gives all to the user.
func (w world) own() {
	w.t.Helper()
	err := filepath.WalkDir(w.dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, w.uid, w.uid))
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// run runs a script in the world's folder, where the places are hidden from it, and returns what it and the program
// that hides them say.
func (w world) run(p Places, script string) (said string, err error) {
	w.t.Helper()
	w.own()
	p.Folder = w.path("above/data")
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), placesVariable + "=" + inJSON(w.t, p),
		scriptVariable + "=cd " + w.dir + "; " + script,
	}
	if w.again {
		cmd.Env = append(cmd.Env, againVariable+"="+inJSON(w.t, Places{Folder: p.Folder, Keep: p.Keep}))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if len(w.mounts) > 0 {
		cmd.Env = append(cmd.Env, mountsVariable+"="+inJSON(w.t, w.mounts))
		own := []syscall.SysProcIDMap{{ContainerID: w.uid, HostID: w.uid, Size: 1}}
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: own, GidMappings: own, AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN},
		}
	}
	if os.Geteuid() == 0 {
		id := uint32(w.uid)
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: id, Gid: id, NoSetGroups: len(w.mounts) > 0}
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// startInside starts this program again, where the places are hidden from it.
func startInside(places, script string) error {
	var p Places
	if err := json.Unmarshal([]byte(places), &p); err != nil {
		return err
	}
	if text, given := os.LookupEnv(mountsVariable); given {
		var mounts [][2]string
		err := json.Unmarshal([]byte(text), &mounts)
		for _, m := range mounts {
			err = errors.Join(err, unix.Mount(m[0], m[1], "", unix.MS_BIND|unix.MS_REC, ""))
		}
		if err != nil {
			return err
		}
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), scriptVariable + "=" + script}
	if again, given := os.LookupEnv(againVariable); given {
		cmd.Env = append(cmd.Env, againVariable+"="+again)
	}
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = os.Stdout, os.Stderr, &syscall.SysProcAttr{}
	if err := p.Start(cmd.SysProcAttr, &cmd.Env, cmd.Start); err != nil {
		return err
	}
	return cmd.Wait()
}

func inJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestFixedFiles: a program that is fixed can be executed, and neither written to nor replaced, nor can a folder that
// leads to it. What else is in its folder stays the user's.
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
					t.Errorf("it says %q, %v", said, err)
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

// leaveMounts puts a file in the place of top/bin/executor and moves top, from a mount namespace that has neither: it
// gives up all mounts but a new one, and goes by folders that it has opened before.
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

// TestLastNamespace: what keeps something in its place holds in one mount namespace. Nobody in the last one can make
// another.
func TestLastNamespace(t *testing.T) {
	t.Parallel()
	for _, uid := range uids() {
		for _, last := range []bool{true, false} {
			t.Run(fmt.Sprintf("as %d, last %t", uid, last), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, uid)
				w.file("top/bin/executor", "original")
				w.file("leave.py", leaveMounts)
				said, err := w.run(Places{Fixed: []string{w.path("top/bin/executor")}, Last: last},
					`unshare --user --map-root-user --mount python3 leave.py || echo no namespace`)
				if err != nil || strings.Contains(said, "no namespace") != last {
					t.Errorf("it says %q, %v", said, err)
				}
				text, err := os.ReadFile(w.path("top/bin/executor"))
				if kept := err == nil && string(text) == "original"; kept != last {
					t.Errorf("the program has %q, %v", text, err)
				}
			})
		}
	}
}

// TestHiddenFiles: a file is hidden as what it was when it was named. Where another one has its name, nothing is
// started: the right one could be seen under another name.
func TestHiddenFiles(t *testing.T) {
	t.Parallel()
	const another = "another file is at its name"
	for name, c := range map[string]struct {
		change func(w world) error // between the naming and the start
		file   string
		known  bool
		want   string // of the error
	}{
		"as it was":                  {file: "conf/secret", known: true},
		"replaced":                   {file: "conf/secret", known: true, change: replace, want: another},
		"gone":                       {file: "conf/secret", known: true, change: remove, want: another},
		"in the hidden folder":       {file: "above/data/secret", known: true},
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
				is, err := IdentityOf(file)
				if c.change != nil {
					err = errors.Join(err, c.change(w))
				}
				if err != nil {
					t.Fatal(err)
				}
				places := Places{Files: []string{w.path(c.file), w.path("conf/link"), w.path(c.file)}}
				if c.known {
					places.FilesAre = map[string]Identity{w.path(c.file): is}
				}
				said, err := w.run(places, `cat conf/secret above/data/secret; cat work/mine`)
				switch {
				case c.want != "" && (err == nil || !strings.Contains(said, c.want)):
					t.Errorf("it says %q, %v, want %q", said, err, c.want)
				case c.want == "" && (err != nil || !strings.HasSuffix(said, "mine")):
					t.Errorf("it says %q, %v", said, err)
				case strings.Contains(said, "hush") && c.file != "conf/dead" && c.file != "above/data/secret":
					t.Errorf("it is seen: %q", said)
				}
			})
		}
	}
}

// TestMountedTwice: what is hidden and fixed is so by all names that it has where its file system, or a part of it, is
// mounted a second time.
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
		"nothing of it, but its sister": {"work", "other place"},
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
					t.Errorf("it says %q, %v", said, err)
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

// TestHides: an open file is hidden by what it is, whatever name it was opened by.
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
	is, err := IdentityOf(secret)
	if err != nil {
		t.Fatal(err)
	}
	path := w.path("conf/secret")
	places := &Places{Folder: w.path("above/data"), Files: []string{path}, FilesAre: map[string]Identity{path: is}}
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
