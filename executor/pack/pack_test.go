package pack_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/executor/pack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// entry is one entry of an archive; kind 0 is a regular file.
type entry struct {
	name, link, content string
	kind                byte
	mode                int64
}

func tarOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Linkname: e.link, Typeflag: e.kind, Mode: e.mode,
			Size: int64(len(e.content))}
		if e.kind == 0 {
			header.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

func zipOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var buffer bytes.Buffer
	w := zip.NewWriter(&buffer)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		mode := fs.FileMode(e.mode)
		switch e.kind {
		case tar.TypeSymlink:
			mode, e.content = fs.ModeSymlink|0o777, e.link
		case tar.TypeFifo:
			mode = fs.ModeNamedPipe | 0o644
		}
		header.SetMode(mode)
		f, err := w.CreateHeader(header)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, e.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

func compressed(t testing.TB, data []byte, open func(io.Writer) (io.WriteCloser, error)) []byte {
	t.Helper()
	var buffer bytes.Buffer
	w, err := open(&buffer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

func gz(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }

// bz2 is `printf '#!/bin/sh\necho hi\n' > run.sh; chmod 755 run.sh; tar --owner=0 --group=0 -cjf - run.sh`.
const bz2 = "QlpoOTFBWSZTWWpmV8wAAID7hMoQQEBoAf+AABB6YZ4AAACACCAAdBopppo0NADR6g2kGU0RoGhpoAGTScur0WQQG0AAkQDQ8NYLlEkBD3YsMikXzlBTngElZRNkTRh4bU5iozpb01Ky4SUVGKxWaMQIJwlJcXuELJ2ERAfi7kinChINTMr5gA=="

func unpack(t testing.TB, data []byte, limits pack.Limits) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "download")
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "package")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir, pack.UnpackFile(context.Background(), file, dir, "job.sh", limits)
}

// tree lists a folder: the mode, then the content or the target of a link.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			found[name] = "-> " + to
		case d.IsDir():
			found[name] = info.Mode().String()
		default:
			content, _ := os.ReadFile(path)
			found[name] = info.Mode().String() + " " + string(content)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

const body = "#!/bin/sh\necho hi\n"

func TestFormats(t *testing.T) {
	t.Parallel()
	plain := tarOf(t, entry{name: "run.sh", content: body, mode: 0o755})
	bzipped, err := base64.StdEncoding.DecodeString(bz2)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"tar": plain,
		"gz":  compressed(t, plain, gz),
		"bz2": bzipped,
		"xz":  compressed(t, plain, func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) }),
		"zst": compressed(t, plain, func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) }),
		"zip": zipOf(t, entry{name: "run.sh", content: body, mode: 0o755}),
	} {
		dir, err := unpack(t, data, pack.Defaults())
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(map[string]string{"run.sh": "-r-xr-xr-x " + body}, tree(t, dir)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	dir, err := unpack(t, []byte(body), pack.Defaults())
	if diff := cmp.Diff(map[string]string{"job.sh": "-r-xr-xr-x " + body}, tree(t, dir)); err != nil || diff != "" {
		t.Errorf("single file: %v %s", err, diff)
	}
}

func TestTree(t *testing.T) {
	t.Parallel()
	dir, err := unpack(t, tarOf(t,
		entry{name: "./", kind: tar.TypeDir, mode: 0o700},
		entry{name: "./bin/", kind: tar.TypeDir, mode: 0o700},
		entry{name: "./bin/a", content: "old", mode: 0o644},
		entry{name: "./bin/a", content: "new", mode: 0o6750},
		entry{name: "data/deep/x", content: "x", mode: 0o666},
		entry{name: "now", kind: tar.TypeSymlink, link: "data/deep"},
		entry{name: "now/y", content: "y", mode: 0o600},
		entry{name: "bin/up", kind: tar.TypeSymlink, link: "../data/deep/x"},
		entry{name: "nowhere", kind: tar.TypeSymlink, link: "later"},
		entry{name: "hard", kind: tar.TypeLink, link: "data/deep/x"},
	), pack.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"bin": "drwxr-xr-x", "bin/a": "-r-xr-xr-x new", "data": "drwxr-xr-x", "data/deep": "drwxr-xr-x",
		"data/deep/x": "-r--r--r-- x",
		"now":         "-> data/deep", "data/deep/y": "-r--r--r-- y", "bin/up": "-> ../data/deep/x",
		"nowhere": "-> later", "hard": "-r--r--r-- x",
	}
	if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestRoot(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		files   []string
		command string
		want    string
	}{
		"at the root":     {[]string{"bin/start.sh", "lib/x"}, "bin/start.sh", "."},
		"one top folder":  {[]string{"my-job/bin/start.sh"}, "bin/start.sh", "my-job"},
		"named in full":   {[]string{"my-job/bin/start.sh"}, "my-job/bin/start.sh", "."},
		"what macOS adds": {[]string{"my-job/run", "__MACOSX/x", "._my-job"}, "run", "my-job"},
		"two folders":     {[]string{"a/run", "b/run"}, "run", "."},
		"in PATH":         {[]string{"my-job/main.py"}, "python3", "my-job"},
	} {
		dir := t.TempDir()
		for _, file := range test.files {
			path := filepath.Join(dir, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if got := pack.Root(dir, test.command); got != filepath.Join(dir, test.want) {
			t.Errorf("%s: got %s", name, got)
		}
	}
}
