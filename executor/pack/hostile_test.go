package pack_test

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/executor/pack"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// hostile is a package that would do harm, on purpose or by accident.
type hostile struct {
	name   string
	file   string // name in the URL; p.tar if empty
	data   []byte
	limits pack.Limits       // fields that are not 0 replace the defaults
	want   string            // part of the error, or
	tree   map[string]string // unpacked content, if the package is accepted
}

// run fetches the package from a folder full of canaries, with and without the cache. The canaries must not change,
// and a refused package must leave nothing behind.
func (h hostile) run(t *testing.T) {
	t.Parallel()
	around := t.TempDir()
	place := filepath.Join(around, "a", "b")
	for _, dir := range []string{place, filepath.Join(place, "executor", "packages"), filepath.Join(place, "cache"),
		filepath.Join(around, "etc")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{around, filepath.Join(around, "a"), place, filepath.Join(around, "etc")} {
		for _, name := range []string{"x", "passwd", "canary", "evil"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("canary "+dir), 0o640); err != nil {
				t.Fatal(err)
			}
		}
	}
	if h.file == "" {
		h.file = "p.tar"
	}
	file := filepath.Join(place, h.file)
	if err := os.WriteFile(file, h.data, 0o644); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, around)
	for _, cache := range []bool{false, true} {
		if !cache && h.tree == nil && len(h.data) > 1<<14 {
			continue // large packages are tested once only
		}
		h.get(t, place, pack.Source{URL: "file://" + file, Cache: cache})
		if diff := cmp.Diff(before, snapshot(t, around)); diff != "" {
			t.Fatalf("outside of the package (-before +after):\n%s", diff)
		}
	}
}

func (h hostile) get(t *testing.T, place string, source pack.Source) {
	t.Helper()
	store, err := pack.Open(filepath.Join(place, "cache"), filepath.Join(place, "executor", "packages"), h.bounds(),
		slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	got, err := store.Get(context.Background(), source)
	if h.tree != nil {
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(h.tree, tree(t, got.Dir)); diff != "" {
			t.Errorf("package, kept %v (-want +got):\n%s", source.Cache, diff)
		}
		got.Release()
	} else {
		var failed *pack.Error
		if !errors.As(err, &failed) || failed.Phase != wire.PhaseUnpack || !strings.Contains(err.Error(), h.want) ||
			len(err.Error()) > 1000 {
			t.Fatalf("cache %v: got %v; want %q", source.Cache, err, h.want)
		}
		mustHold(t, filepath.Join(place, "cache", "content"), 0)
	}
	mustHold(t, filepath.Join(place, "cache", "tmp"), 0)
	mustHold(t, filepath.Join(place, "executor", "packages"), 0)
}

func (h hostile) bounds() pack.Limits {
	limits := pack.Defaults()
	given := h.limits
	limits.Bytes = cmpOr(given.Bytes, limits.Bytes)
	limits.Files = cmpOr(given.Files, limits.Files)
	limits.Ratio = cmpOr(given.Ratio, limits.Ratio)
	limits.Name = cmpOr(given.Name, limits.Name)
	limits.Depth = cmpOr(given.Depth, limits.Depth)
	limits.Unpacking = cmpOr(given.Unpacking, limits.Unpacking)
	limits.Download = cmpOr(given.Download, limits.Download)
	return limits
}

func cmpOr[T comparable](a, b T) T {
	var zero T
	if a != zero {
		return a
	}
	return b
}

func mustHold(t testing.TB, dir string, n int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || len(entries) != n {
		t.Errorf("%s contains %v, want %d entries (%v)", dir, entries, n, err)
	}
}

// snapshot describes everything around the folders of the store, byte for byte.
func snapshot(t testing.TB, around string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(around, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(around, path)
		if name == "a/b/cache" || name == "a/b/executor" {
			return filepath.SkipDir
		}
		found[name] = fmt.Sprint(info.Mode(), info.ModTime())
		if d.Type().IsRegular() {
			content, err := os.ReadFile(path)
			found[name] += string(content)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func plain(name string) entry { return entry{name: name, content: "x", mode: 0o644} }

func folder(name string) entry { return entry{name: name, kind: tar.TypeDir, mode: 0o755} }

func symlink(name, to string) entry { return entry{name: name, link: to, kind: tar.TypeSymlink} }

func hardlink(name, to string) entry { return entry{name: name, link: to, kind: tar.TypeLink} }

const isX = "-r--r--r-- x"

// TestHostileNames: entries whose names lead out of the package, or are invalid.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	for _, h := range []hostile{
		{name: "parent", data: tarOf(t, plain("../evil")), want: "leads up"},
		{name: "parent inside", data: tarOf(t, plain("a/../../evil")), want: "leads up"},
		{name: "parent that stays inside", data: tarOf(t, plain("a/../b")), want: "leads up"},
		{name: "parent folder", data: tarOf(t, folder("../")), want: "leads up"},
		{name: "parent many times", data: tarOf(t, plain(strings.Repeat("../", 20)+"etc/evil")), want: "leads up"},
		{name: "absolute", data: tarOf(t, plain("/etc/evil")), want: "absolute"},
		{name: "absolute folder", data: tarOf(t, folder("/evil/")), want: "absolute"},
		{name: "two slashes", data: tarOf(t, plain("//etc/evil")), want: "absolute"},
		{name: "zip parent", file: "p.zip", data: zipOf(t, plain("../evil")), want: "leads up"},
		{name: "zip absolute", file: "p.zip", data: zipOf(t, plain("/etc/evil")), want: "absolute"},
		{name: "zip backslash", file: "p.zip", data: zipOf(t, plain(`..\..\evil`)), want: "leads up"},
		{name: "zip backslash absolute", file: "p.zip", data: zipOf(t, plain(`\evil`)), want: "absolute"},
		{name: "zip without name", file: "p.zip", data: zipOf(t, plain("")), want: "name is empty"},
		{name: "zip zero byte", file: "p.zip", data: zipOf(t, plain("a\x00/../../evil")), want: "zero byte"},
		{name: "tar zero byte", data: paxTar(t, "path=evil\x00.sh\n"), want: "invalid tar header"},
		{name: "the package itself as a file", data: tarOf(t, plain(".")), want: "package's own folder"},
		{name: "the package itself as a link", data: tarOf(t, symlink("./", "x")), want: "package's own folder"},
		{name: "long path", data: tarOf(t, plain(strings.Repeat("abc/", 256)+"x")), limits: pack.Limits{Depth: 1000}, want: "path of 1025 bytes; at most 1024 are allowed"},
		{name: "huge path", data: tarOf(t, plain(strings.Repeat("a/", 400_000)+"b")), want: "path of 800001 bytes"},
		{name: "path larger than a header may be", data: rawTar(rawEntry{name: "././@LongLink", kind: 'L', content: strings.Repeat("a", 2<<20)}, rawEntry{name: "a", kind: '0', content: "x"}), want: "header field too long"},
		{name: "long component", data: tarOf(t, plain(strings.Repeat("a", 256))), want: "256 bytes; at most 255 are allowed"},
		{name: "deep", data: tarOf(t, plain(strings.Repeat("a/", 64)+"x")), want: "65 components; at most 64 are allowed"},
		{name: "deep folders only", data: tarOf(t, folder(strings.Repeat("a/", 200))), want: "components; at most 64 are allowed"},
		{name: "zip deep", file: "p.zip", data: zipOf(t, plain(strings.Repeat("a/", 300)+"x")), want: "components; at most 64 are allowed"},
	} {
		t.Run(h.name, h.run)
	}
}

// TestHostileLinks: links out of the package in every form.
func TestHostileLinks(t *testing.T) {
	t.Parallel()
	for _, h := range []hostile{
		{name: "absolute without a file", data: tarOf(t, symlink("l", "/etc")), want: "contains no file"},
		{name: "absolute to a file", data: tarOf(t, plain("f"), symlink("l", "/etc/passwd")), tree: map[string]string{"f": isX, "l": "-> /etc/passwd"}},
		{name: "a virtual environment", data: tarOf(t, plain("pyvenv.cfg"), symlink("bin/python3", "/usr/bin/python3"), symlink("bin/python", "python3"), symlink("bin/python3.12", "python")),
			tree: map[string]string{"pyvenv.cfg": isX, "bin": "drwxr-xr-x", "bin/python3": "-> /usr/bin/python3", "bin/python": "-> python3", "bin/python3.12": "-> python"}},
		{name: "a JRE", data: tarOf(t, plain("app.jar"), symlink("jre", "/usr/lib/jvm/java-21"), symlink("cacerts", "jre/lib/security/cacerts"), symlink("conf", "/no/such")),
			tree: map[string]string{"app.jar": isX, "jre": "-> /usr/lib/jvm/java-21", "cacerts": "-> jre/lib/security/cacerts", "conf": "-> /no/such"}},
		{name: "absolute, replaced", data: tarOf(t, symlink("l", "/etc/passwd"), plain("l")), tree: map[string]string{"l": isX}},
		{name: "file through an absolute link", data: tarOf(t, plain("f"), symlink("l", "/tmp"), plain("l/evil")), want: "escapes"},
		{name: "folder through an absolute link", data: tarOf(t, plain("f"), symlink("l", "/tmp"), folder("l/evil/")), want: "escapes"},
		{name: "link through an absolute link", data: tarOf(t, plain("f"), symlink("l", "/tmp"), symlink("l/evil", "x")), want: "escapes"},
		{name: "hard link through an absolute link", data: tarOf(t, symlink("l", "/etc"), hardlink("h", "l/passwd")), want: "isn't in the package before it"},
		{name: "hard link to an absolute link", data: tarOf(t, plain("f"), symlink("l", "/etc/passwd"), hardlink("h", "l")), want: "which is not a file"},
		{name: "up", data: tarOf(t, symlink("a/l", "../../evil")), want: "isn't in the package"},
		{name: "to the parent", data: tarOf(t, symlink("l", "..")), want: "isn't in the package"},
		{name: "up behind a way down", data: tarOf(t, symlink("l", "a/b/../../../evil")), want: "isn't in the package"},
		{name: "nowhere outside", data: tarOf(t, plain("f"), symlink("l", "../no-such-file")), want: "isn't in the package"},
		{name: "empty", data: zipOf(t, symlink("l", "")), file: "p.zip", want: "isn't in the package"},
		{name: "zip out", data: zipOf(t, symlink("l", "../../etc")), file: "p.zip", want: "isn't in the package"},
		{name: "zip absolute", data: zipOf(t, plain("f"), symlink("l", "/etc")), file: "p.zip", tree: map[string]string{"f": isX, "l": "-> /etc"}},
		{name: "zip with a zero byte", data: zipOf(t, symlink("l", "a\x00b")), file: "p.zip", want: "isn't in the package"},
		{name: "zip very long", data: zipOf(t, symlink("l", strings.Repeat("a/", 4096))), file: "p.zip", want: "more than 4096 bytes"},
		{name: "file through a link out", data: tarOf(t, symlink("l", "../.."), plain("l/evil")), want: "isn't in the package"},
		{name: "chain", data: tarOf(t, plain("x"), symlink("a/b/s", "../.."), symlink("t", "a/b/s/../x")), want: "can't be followed"},
		{name: "file through a chain", data: tarOf(t, symlink("a/b/s", "../.."), symlink("t", "a/b/s/.."), plain("t/evil")), want: "escapes"},
		{name: "folder through a chain", data: tarOf(t, symlink("a/b/s", "../.."), symlink("t", "a/b/s/.."), folder("t/evil/")), want: "escapes"},
		{name: "hard link through a chain", data: tarOf(t, symlink("a/b/s", "../.."), symlink("t", "a/b/s/.."), hardlink("h", "t/passwd")), want: "isn't in the package before it"},
		{name: "a link that lies in another folder than it says", data: tarOf(t, plain("f"), folder("x/"), symlink("x/y", ".."), symlink("x/y/l", "../../evil")), want: "isn't in the package"},
		{name: "the same, hidden again", data: tarOf(t, plain("f"), folder("x/"), folder("e/"), symlink("x/y", ".."), symlink("x/y/l", "../../nowhere"), symlink("x/y", "../e")), want: "isn't in the package"},
		{name: "self", data: tarOf(t, plain("f"), symlink("l", "l")), want: "can't be followed"},
		{name: "loop of two", data: tarOf(t, plain("f"), symlink("a", "b"), symlink("b", "a")), want: "can't be followed"},
		{name: "loop of folders", data: tarOf(t, plain("a/f"), symlink("a/b", "../c/d"), symlink("c/d", "../a/b")), want: "can't be followed"},
		{name: "file through a loop", data: tarOf(t, symlink("a", "b"), symlink("b", "a"), plain("a/f")), want: "too many"},
		{name: "hard link up", data: tarOf(t, hardlink("h", "../evil")), want: `hard link to "../evil": path leads up`},
		{name: "hard link absolute", data: tarOf(t, hardlink("h", "/etc/passwd")), want: `hard link to "/etc/passwd": absolute path`},
		{name: "hard link to a link", data: tarOf(t, symlink("l", "x"), hardlink("h", "l")), want: "which is not a file"},
		{name: "hard link to a folder", data: tarOf(t, folder("d/"), hardlink("h", "d")), want: "which is not a file"},
		{name: "hard link ahead", data: tarOf(t, hardlink("h", "later"), plain("later")), want: "isn't in the package before it"},
		{name: "hard link over a folder", data: tarOf(t, plain("d/f"), hardlink("d", "d/f")), want: "a file and a folder"},
		{name: "replaced by a file", data: tarOf(t, symlink("l", "real"), plain("l")), tree: map[string]string{"l": isX}},
		{name: "replaced by a link", data: tarOf(t, plain("f"), symlink("l", "f"), symlink("l", "nowhere")), tree: map[string]string{"f": isX, "l": "-> nowhere"}},
		{name: "file replaced by a link, then written",
			data: tarOf(t, plain("l"), plain("f"), symlink("l", "f"), entry{name: "l", content: "new", mode: 0o600}),
			tree: map[string]string{"f": isX, "l": "-r--r--r-- new"}},
		{name: "hard link to itself", data: tarOf(t, plain("f"), hardlink("f", "./f")), tree: map[string]string{"f": isX}},
		{name: "hard link, then the name written again",
			data: tarOf(t, plain("f"), hardlink("h", "f"), entry{name: "f", content: "new", mode: 0o644}),
			tree: map[string]string{"f": "-r--r--r-- new", "h": isX}},
		{name: "nowhere inside", data: tarOf(t, plain("f"), symlink("l", "no/such/file")), tree: map[string]string{"f": isX, "l": "-> no/such/file"}},
		{name: "to the package itself", data: tarOf(t, plain("f"), symlink("a/l", "..")), tree: map[string]string{"f": isX, "a": "drwxr-xr-x", "a/l": "-> .."}},
		{name: "nowhere, and a folder", data: tarOf(t, symlink("l", "nowhere"), plain("l/f")), want: "both a dangling link and a folder"},
	} {
		t.Run(h.name, h.run)
	}
}

// TestHostileEntries: entries that are neither file nor folder, duplicate names, and unusual modes.
func TestHostileEntries(t *testing.T) {
	t.Parallel()
	kind := func(kind byte) []byte { return tarOf(t, plain("f"), entry{name: "d", kind: kind}) }
	for _, h := range []hostile{
		{name: "character device", data: kind(tar.TypeChar), want: "must not contain devices"},
		{name: "block device", data: kind(tar.TypeBlock), want: "must not contain devices"},
		{name: "named pipe", data: kind(tar.TypeFifo), want: "must not contain devices"},
		{name: "unknown type", data: rawTar(rawEntry{name: "s", kind: 's'}), want: `unknown type 's'`},
		{name: "zip named pipe", file: "p.zip", data: zipOf(t, entry{name: "p", kind: tar.TypeFifo}), want: "must not contain devices"},
		{name: "zip device", file: "p.zip", data: zipMode(t, fs.ModeDevice|fs.ModeCharDevice|0o666), want: "must not contain devices"},
		{name: "zip socket", file: "p.zip", data: zipMode(t, fs.ModeSocket|0o666), want: "must not contain devices"},
		{name: "file over folder", data: tarOf(t, plain("a/b"), plain("a")), want: "a file and a folder"},
		{name: "folder over file", data: tarOf(t, plain("a"), plain("a/b")), want: "a file and a folder"},
		{name: "folder entry over file", data: tarOf(t, plain("a"), folder("a/")), want: "a file and a folder"},
		{name: "link over folder", data: tarOf(t, folder("a/"), symlink("a", "b")), want: "a file and a folder"},
		{name: "zip file over folder", file: "p.zip", data: zipOf(t, plain("a/b"), plain("a")), want: "a file and a folder"},
		{name: "folder over link to a file", data: tarOf(t, plain("f"), symlink("l", "f"), folder("l/")), want: "a file and a folder"},
		{name: "file twice", data: tarOf(t, entry{name: "a", content: "old"}, plain("a")), tree: map[string]string{"a": isX}},
		{name: "folder twice", data: tarOf(t, folder("a/"), plain("a/f"), folder("./a")), tree: map[string]string{"a": "drwxr-xr-x", "a/f": isX}},
		{name: "zip file twice", file: "p.zip", data: zipOf(t, entry{name: "a", content: "old"}, plain("a")), tree: map[string]string{"a": isX}},
		{name: "case", data: tarOf(t, entry{name: "RUN.sh", content: "X", mode: 0o755}, plain("run.sh"),
			plain("Run.sh/x")),
			tree: map[string]string{"RUN.sh": "-r-xr-xr-x X", "run.sh": isX, "Run.sh": "drwxr-xr-x", "Run.sh/x": isX}},
		{name: "names that aren't UTF-8", data: paxTar(t, ""), tree: map[string]string{"\xff\xfe.sh": isX}},
		{name: "control characters", data: tarOf(t, plain("a\nb\x1b[31m")), tree: map[string]string{"a\nb\x1b[31m": isX}},
		{name: "set-user-id, set-group-id and sticky",
			data: tarOf(t, entry{name: "s", content: "x", mode: 0o7777},
				entry{name: "d/", kind: tar.TypeDir, mode: 0o7777}),
			tree: map[string]string{"s": "-r-xr-xr-x x", "d": "drwxr-xr-x"}},
		{name: "zip set-user-id", file: "p.zip", data: zipMode(t, fs.ModeSetuid|fs.ModeSetgid|0o755), tree: map[string]string{"e": "-r-xr-xr-x x"}},
		{name: "without any permission", data: tarOf(t, folder("d/"), entry{name: "d/f", content: "x"},
			entry{name: "d/", kind: tar.TypeDir}),
			tree: map[string]string{"d": "drwxr-xr-x", "d/f": isX}},
		{name: "GNU long name", data: tarFormat(t, tar.FormatGNU,
			strings.Repeat("n", 200)+"/"+strings.Repeat("m", 200)),
			tree: map[string]string{strings.Repeat("n", 200): "drwxr-xr-x",
				strings.Repeat("n", 200) + "/" + strings.Repeat("m", 200): isX}},
		{name: "PAX long name", data: tarFormat(t, tar.FormatPAX, strings.Repeat("n", 250)), tree: map[string]string{strings.Repeat("n", 250): isX}},
		{name: "only folders", data: tarOf(t, folder("a/"), folder("b/")), want: "contains no file"},
		{name: "only a link", data: tarOf(t, symlink("a", "b")), want: "contains no file"},
	} {
		t.Run(h.name, h.run)
	}
}
