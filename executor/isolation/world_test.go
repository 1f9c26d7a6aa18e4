package isolation

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
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

// uids are the users that run scripts: this one or, if that is root, two others. One of them has the id that the
// kernel shows in a namespace for all users without an id there, so that it seems to own the folders of other
// users.
func uids() []int {
	if uid := os.Geteuid(); uid != 0 {
		return []int{uid}
	}
	const overflow, ordinary = 65534, 60577
	return []int{overflow, ordinary}
}

// world is a folder of a user, who may do anything in it except for what is hidden and fixed.
type world struct {
	t   *testing.T
	dir string
	uid int
	// mounts are folders and files, and the other places where each is mounted.
	mounts [][2]string
	// again means that the folder is hidden once more, inside.
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

// file creates a program and its parent folders.
func (w world) file(name, text string) {
	w.t.Helper()
	path := w.path(name)
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755))
	if err != nil {
		w.t.Fatal(err)
	}
}

// own gives everything in the folder to the user.
func (w world) own() {
	w.t.Helper()
	err := filepath.WalkDir(w.dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, w.uid, w.uid))
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// run runs a script in the world's folder with the places hidden from it, and returns the output of the script and
// of the program that hides them.
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

// startInside starts this program again, with the places hidden from it.
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
