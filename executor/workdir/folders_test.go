package workdir

import (
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/elasticjob-go/elasticjob/executor/pack"
)

// contentOf lists the content of a folder, without following links.
func contentOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		found[path[len(dir)+1:]] = d.Type().String()
		if to, err := os.Readlink(path); err == nil {
			found[path[len(dir)+1:]] = to
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func write(t *testing.T, root string, files ...string) {
	t.Helper()
	for _, file := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, file), nil, 0o444); err != nil {
			t.Fatal(err)
		}
	}
}

// TestViewOfAReplacedPackage: a package that a job has changed may be replaced while a task is being started in it. The
// view is then that of the complete new package, and not that of the old one, which is being removed.
func TestViewOfAReplacedPackage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, other := filepath.Join(dir, "root"), filepath.Join(dir, "other")
	files := []string{"a", "b/c", "b/d/e"}
	write(t, root, files...)
	want, err := viewOf(root)
	if err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			write(t, other, files...)
			err := unix.Renameat2(unix.AT_FDCWD, other, unix.AT_FDCWD, root, unix.RENAME_EXCHANGE)
			if err == nil {
				err = os.RemoveAll(other)
			}
			if err != nil {
				stopped <- err
				return
			}
		}
	}()
	for range 1000 {
		got, err := viewOf(root)
		if err != nil {
			t.Error(err)
			break
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(view{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
			break
		}
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
}

// TestWorkFolderIsAsItShouldBe: whatever a task did to its working folder, during the task or after it, the next
// task that gets the folder finds the package and nothing else.
func TestWorkFolderIsAsItShouldBe(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(path string) error{
		"nothing":       func(string) error { return nil },
		"added":         func(path string) error { return os.WriteFile(filepath.Join(path, "a/new"), nil, 0o644) },
		"a folder":      func(path string) error { return os.MkdirAll(filepath.Join(path, "new/and/more"), 0o755) },
		"closed":        func(path string) error { return os.Chmod(filepath.Join(path, "a"), 0) },
		"open":          func(path string) error { return os.Chmod(path, 0o777) },
		"link removed":  func(path string) error { return os.Remove(filepath.Join(path, "run")) },
		"all removed":   os.RemoveAll,
		"half removed":  func(path string) error { return os.RemoveAll(filepath.Join(path, "a")) },
		"other link":    func(path string) error { return relink(filepath.Join(path, "run"), "/bin/sh") },
		"a file":        func(path string) error { return refile(filepath.Join(path, "a/b/c")) },
		"link's folder": func(path string) error { return relink(filepath.Join(path, "a"), "/tmp") },
		"a link":        func(path string) error { return relink(path, "/tmp") },
		"its time": func(path string) error {
			old := time.Now().Add(-time.Hour)
			return os.Chtimes(path, old, old)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			write(t, root, "run", "a/b/c", "a/d")
			if err := os.Symlink("a/b", filepath.Join(root, "within")); err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"run": root + "/run", "a": "d---------", "a/b": "d---------",
				"a/b/c": root + "/a/b/c", "a/d": root + "/a/d", "within": "a/b"}
			works := New(Options{Sandbox: openSandbox(t), Dir: "work", Log: slog.New(slog.DiscardHandler)})
			t.Cleanup(func() {
				// This removes even folders without permissions.
				if err := pack.RemoveBelow(works.opt.Sandbox, works.opt.Dir); err != nil {
					t.Error(err)
				}
			})
			begin := time.Now()
			for i := 0; i < 3 || time.Since(begin) < 2*minStampAge; i++ { // covers folders with and without a stamp
				for range 2 {
					path, release, err := works.Take(root, "state")
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(want, contentOf(t, path)); diff != "" {
						t.Fatalf("round %d (-want +got):\n%s", i, diff)
					}
					if info, err := os.Lstat(path); err != nil || info.Mode() != fs.ModeDir|folderMode {
						t.Fatal(info, err)
					}
					if i%2 == 0 {
						if err := spoil(path); err != nil {
							t.Fatal(err)
						}
					}
					release(Keep{})
					if _, err := os.Lstat(path); err == nil && i%3 == 0 {
						if err := spoil(path); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			if works.created != 1 {
				t.Errorf("made %d folders", works.created)
			}
		})
	}
}

// openSandbox opens an empty sandbox.
func openSandbox(t testing.TB) *os.Root {
	t.Helper()
	sandbox, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sandbox.Close() })
	return sandbox
}

func relink(path, to string) error {
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	return os.Symlink(to, path)
}

func refile(path string) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	return os.WriteFile(path, []byte("other"), 0o644)
}

// TestLargePackageIsLinked: folders of a package that exceed the limit of a working folder are links to the
// package's folders.
func TestLargePackageIsLinked(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "run", "few/a", "few/deep/b")
	for i := range maxViewEntries {
		write(t, root, fmt.Sprint("many/", i))
	}
	works := New(Options{Sandbox: openSandbox(t), Dir: "work", Log: slog.New(slog.DiscardHandler)})
	path, _, err := works.Take(root, "")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"run": root + "/run", "few": "d---------", "few/a": root + "/few/a",
		"few/deep": "d---------", "few/deep/b": root + "/few/deep/b", "many": root + "/many"}
	if diff := cmp.Diff(want, contentOf(t, path)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWorkFoldersOfOldPackagesGo: a package that is not used any more has no folders on the disk.
func TestWorkFoldersOfOldPackagesGo(t *testing.T) {
	t.Parallel()
	works := New(Options{Sandbox: openSandbox(t), Dir: "work", Log: slog.New(slog.DiscardHandler)})
	root := t.TempDir()
	write(t, root, "run")
	late := func(Keep) {}
	for i := range 3 * workPools {
		_, release, err := works.Take(root, fmt.Sprint("state ", i))
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			late = release // this task goes on
			continue
		}
		release(Keep{})
	}
	late(Keep{})
	if found, err := listFolder(works.opt.Sandbox, works.opt.Dir); err != nil || len(found) != workPools {
		t.Errorf("%d folders, %v", len(found), err)
	}
}

func BenchmarkWorkFolder(b *testing.B) {
	for _, files := range []int{1, 10, 100, 400} {
		for name, writes := range map[string]bool{"left as it was": false, "written to": true} {
			b.Run(fmt.Sprintf("%d files, %s", files, name), func(b *testing.B) {
				root := b.TempDir()
				for i := range files {
					path := filepath.Join(root, fmt.Sprint(i%10), fmt.Sprint(i))
					if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
						b.Fatal(err)
					}
					if err := os.WriteFile(path, nil, 0o444); err != nil {
						b.Fatal(err)
					}
				}
				works := New(Options{Sandbox: openSandbox(b), Dir: "work", Log: slog.New(slog.DiscardHandler)})
				for b.Loop() {
					path, release, err := works.Take(root, "state")
					if err != nil {
						b.Fatal(err)
					}
					if writes {
						if err := os.WriteFile(filepath.Join(path, "state"), nil, 0o644); err != nil {
							b.Fatal(err)
						}
					}
					release(Keep{})
				}
			})
		}
	}
}
