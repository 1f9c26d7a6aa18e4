package pack_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/executor/pack"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// TestSourceOf: an archive is kept whole if the command names its file.
func TestSourceOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		url     string
		command []string
		want    bool
	}{
		{"http://h/app.jar", []string{"java", "-jar", "app.jar"}, true},
		{"http://h/app.jar", []string{"java", "-jar", "./app.jar"}, true},
		{"http://h/app-1.2.jar?token=x", []string{"java", "-Xmx1g", "-jar", "app-1.2.jar", "run"}, true},
		{"http://h/app.jar", []string{"java", "-cp", "app.jar:lib/*", "Main"}, true},
		{"http://h/app.jar", []string{"java", "-cp", "conf:./app.jar", "Main"}, true},
		{"http://h/app.jar", []string{"java", "--class-path=app.jar", "Main"}, true},
		{"http://h/agent.jar", []string{"java", "-javaagent:agent.jar=port=1", "-jar", "x.jar"}, true},
		{"http://h/app.jar", []string{"sh", "-c", "exec java -jar app.jar >>log"}, true},
		{"http://h/app.jar", []string{"sh", "-c", "java -jar $ELASTICJOB_PACKAGE_DIR/app.jar"}, true},
		{"http://h/app.jar", []string{"sh", "-c", `java -jar "${PWD}/app.jar"; echo`}, true},
		{"http://h/app.jar", []string{"sh", "-c", "java -jar *.jar"}, true},
		{"http://h/web.war", []string{"java", "-jar", "web.war"}, true},
		{"http://h/all.ear", []string{"deploy", "--file=all.ear"}, true},
		{"http://h/job.whl", []string{"python3", "-m", "pip", "install", "job.whl"}, true},
		{"http://h/job.pyz", []string{"python3", "job.pyz"}, true},
		{"http://h/job.zip", []string{"python3", "job.zip"}, true},
		{"http://h/job.tar.gz", []string{"sh", "-c", "tar xzf job.tar.gz && job/run"}, true},
		{"http://h/my%20job.jar", []string{"java", "-jar", "my job.jar"}, true},
		{"http://h/app.jar", []string{"java", "-cp", ".", "Main"}, false},
		{"http://h/app.jar", []string{"java", "-jar", "myapp.jar"}, false},
		{"http://h/app.jar", []string{"java", "-jar", "lib/app.jar"}, false},
		{"http://h/app.jar", []string{"java", "-jar", "/opt/app.jar"}, false},
		{"http://h/app.jar", []string{"cat", "app.jar.txt"}, false},
		{"http://h/app.zip", []string{"java", "-cp", "lib/*.jar", "Main"}, false},
		{"http://h/job", []string{"job"}, false},
		{"http://h/job.sh", []string{"sh", "job.sh"}, false},
		{"http://h/job-1.2", []string{"job-1.2"}, false},
		{"http://h/job.tar.gz", []string{"bin/start.sh"}, false},
	} {
		got := pack.SourceOf(wire.Package{URL: test.url, SHA256: "1", Cache: true}, test.command)
		if diff := cmp.Diff(pack.Source{URL: test.url, SHA256: "1", Cache: true, Whole: test.want}, got); diff != "" {
			t.Errorf("%s %q: %s", test.url, test.command, diff)
		}
	}
}

// TestWholeAndUnpacked: two apps use one archive, as a whole and unpacked, from one cache, also across a restart, while
// the server says that it has not changed. A single file is kept once.
func TestWholeAndUnpacked(t *testing.T) {
	t.Parallel()
	archive := zipOf(t, entry{name: "META-INF/MANIFEST.MF", content: "m"}, entry{name: "Main.class", content: "c"})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"a"`)
		switch {
		case r.Header.Get("If-None-Match") != "":
			w.WriteHeader(http.StatusNotModified)
		case r.URL.Path == "/broken.jar":
			_, _ = w.Write(archive[:len(archive)-30])
		case r.URL.Path == "/job.tgz":
			_, _ = w.Write(compressed(t, tarOf(t, plain("run")), gz))
		case r.URL.Path == "/error.tgz":
			_, _ = w.Write([]byte("no such package"))
		case strings.HasSuffix(r.URL.Path, ".sh"):
			_, _ = w.Write([]byte(body))
		default:
			_, _ = w.Write(archive)
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	limits := pack.Defaults()
	limits.Check = 0 // each use asks the server
	whole := map[string]string{"app.jar": "-r-xr-xr-x " + string(archive)}
	unpacked := map[string]string{"META-INF": "drwxr-xr-x", "META-INF/MANIFEST.MF": "-r--r--r-- m",
		"Main.class": "-r--r--r-- c"}
	script := map[string]string{"job.sh": "-r-xr-xr-x " + body}
	for range 2 {
		store, err := pack.Open(filepath.Join(dir, "cache"), filepath.Join(dir, "private"), limits,
			slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		for _, cache := range []bool{true, false, true} {
			for _, test := range []struct {
				file  string
				whole bool
				want  map[string]string
			}{
				{"app.jar", true, whole}, {"app.jar", false, unpacked}, {"app.jar", true, whole},
				{"job.sh", true, script}, {"job.sh", false, script}, // a single file in either case
			} {
				source := pack.Source{URL: server.URL + "/" + test.file, Cache: cache, Whole: test.whole}
				if diff := cmp.Diff(test.want, tree(t, get(t, store, source))); diff != "" {
					t.Errorf("%+v: %s", source, diff)
				}
			}
		}
		for file, want := range map[string]string{"broken.jar": "broken zip archive",
			"error.tgz": "named like an archive, but is not one"} {
			source := pack.Source{URL: server.URL + "/" + file, Cache: true, Whole: true}
			if _, err := store.Get(t.Context(), source); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", file, err)
			}
		}
		if got := tree(t, get(t, store, pack.Source{URL: server.URL + "/job.tgz", Whole: true})); len(got) != 1 ||
			!strings.HasPrefix(got["job.tgz"], "-r-xr-xr-x \x1f\x8b") {
			t.Errorf("%q", got)
		}
		store.Close()
	}
	if kept, err := os.ReadDir(filepath.Join(dir, "cache", "content")); err != nil || len(kept) != 3 {
		t.Errorf("%v, %v", kept, err)
	}
}

// TestOutside: only an absolute link leads out, on the way to a file or at its end.
func TestOutside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, to := range map[string]string{"abs": "/etc", "chain": "abs", "inside": "file", "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"abs": "/etc", "abs/passwd": "/etc/passwd", "./chain/x": "/etc/x",
		"inside": "",
		"file":   "", "loop": "", "none": "", "../x": "", "file/x": ""} {
		if got := pack.Outside(dir, name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
