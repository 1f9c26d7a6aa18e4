package pack_test

import (
	"archive/tar"
	"archive/zip"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/pack"
)

// FuzzUnpack: for any bytes, unpacking ends within its limits and stays in its folder. Seeds are below and in
// testdata/fuzz/FuzzUnpack.
func FuzzUnpack(f *testing.F) {
	good := tarOf(f, folder("d/"), entry{name: "d/run.sh", content: body, mode: 0o755}, symlink("l", "d/run.sh"),
		hardlink("h", "d/run.sh"))
	for _, seed := range [][]byte{
		good, compressed(f, good, gz), decode(f, bz2), compressed(f, good, xzip), compressed(f, good, zst),
		zipOf(f, folder("d/"), entry{name: "d/run.sh", content: body, mode: 0o755}, symlink("l", "d/run.sh")),
		[]byte(body),
		sparse(f), tarFormat(f, tar.FormatPAX, strings.Repeat("n", 200)),
		tarFormat(f, tar.FormatGNU, strings.Repeat("n", 200)),
		zipRaw(f, &zip.FileHeader{Name: "a", UncompressedSize64: 1 << 40}, "x"),
		zipDirectory(f, zipOf(f, plain("a")), 3),
		tarOf(f, plain("f"), symlink("l", "/etc"), symlink("m", "l/passwd")),
		tarOf(f, plain("f"), symlink("x/y", ".."), symlink("x/y/l", "../../evil")), paxTar(f, "path=evil.sh\n"),
	} {
		f.Add(seed)
	}
	limits := pack.Limits{Bytes: 1 << 20, Files: 50, Ratio: 250, Name: 200, Depth: 10, Unpacking: 5 * time.Second}
	f.Fuzz(func(t *testing.T, data []byte) {
		around, err := os.MkdirTemp(memory(), "fuzz-")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(around) }()
		file, dir := filepath.Join(around, "download"), filepath.Join(around, "package")
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		err = pack.UnpackFile(context.Background(), file, dir, "job.sh", limits)
		mustHold(t, around, 2)
		if now, readErr := os.ReadFile(file); readErr != nil || string(now) != string(data) {
			t.Fatalf("the download was changed (%v)", readErr)
		}
		if err == nil {
			mustBeSound(t, dir, limits)
		}
	})
}

// mustBeSound checks a package that was accepted.
func mustBeSound(t *testing.T, dir string, limits pack.Limits) {
	t.Helper()
	entries, bytes := 0, int64(0)
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		entries++
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.Type() == fs.ModeSymlink:
			inside, _ := filepath.Rel(dir, path)
			if pack.Outside(dir, inside) != "" {
				return nil
			}
			if to, err := filepath.EvalSymlinks(path); err == nil && to != dir && !strings.HasPrefix(to, dir+"/") {
				t.Errorf("link %q leads to %q", path, to)
			}
			return nil
		case d.Type() != 0 && !d.IsDir():
			t.Errorf("%q is %v", path, d.Type())
		case d.Type().IsRegular():
			bytes += info.Size()
		}
		allowed := []fs.FileMode{0o555, 0o444}
		if d.IsDir() {
			allowed = []fs.FileMode{0o755}
		}
		if mode := info.Mode(); !slices.Contains(allowed, mode.Perm()) ||
			mode&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0 {
			t.Errorf("%q has mode %v", path, mode)
		}
		return nil
	})
	// Hard links share their bytes, so the total can exceed the limit.
	if err != nil || entries == 0 || entries > limits.Files || bytes > limits.Bytes*int64(limits.Files) {
		t.Errorf("%d entries of %d bytes (%v)", entries, bytes, err)
	}
}

// memory returns a folder in memory, if there is one.
func memory() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return ""
}
