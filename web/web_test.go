package web_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/web"
)

const index = `<!doctype html>
<head>
<link rel="stylesheet" href="{static}/css/base.css">
<script type="module" src="{static}/js/main.js"></script>
</head>
`

// some returns the files of a small console.
func some() fstest.MapFS {
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"index.html":   index,
		"docs.html":    index,
		"css/base.css": strings.Repeat("p { color: red }\n", 100),
		"js/main.js": `// import './comment.js'
import { h } from '../vendor/preact.js'
import {
  one,
  two,
} from './lib/several.js'
import './lib/effect.js'
export * from "./lib/again.js"
import '{static}/none.js'
const later = () => import('./pages/later.js')
export const text = './not.js'
export { later }
`,
		"js/lib/several.js": "import { h } from '../../vendor/preact.js'\nimport '../main.js'\n",
		"js/lib/effect.js":  "import './gone.js'\n",
		"js/lib/again.js":   `import{a}from"./several.js"` + "\n",
		"js/pages/later.js": "import '../lib/unseen.js'\n",
		"vendor/preact.js":  "export const h = '{static}'\n",
		"js/comment.js":     "",
		"js/not.js":         "",
		"js/lib/unseen.js":  "",
		"vendor/x.d.ts":     "export const x: string\n",
		"icon.svg":          "<svg/>",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// get sends a request to a console as a server does: for the page, unless the path is that of a file.
func get(t *testing.T, c *web.Console, method, path string, headers ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	if !strings.HasPrefix(path, "/static/") {
		c.Page(w, r)
	} else if !c.Static(w, r) {
		if w.Body.Len() > 0 || len(w.Header()) > 0 {
			t.Errorf("%s is not there, and was answered: %v", path, w.Header())
		}
		w.WriteHeader(http.StatusNotFound)
	}
	return w.Result()
}

func textOf(t *testing.T, answer *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// folderOf returns the address of the folder that a page names.
func folderOf(t *testing.T, page string) string {
	t.Helper()
	found := "/" + regexp.MustCompile(`static/[0-9a-f]{16}`).FindString(page)
	if found == "/" || strings.Contains(page, "{static}") {
		t.Fatalf("the page names no folder: %s", page)
	}
	return found
}

// TestPageNamesAllThatItsScriptNeeds: the page names each module that main.js imports directly or indirectly, once;
// modules that are imported dynamically are not named.
func TestPageNamesAllThatItsScriptNeeds(t *testing.T) {
	t.Parallel()
	page := textOf(t, get(t, web.New(some()), "GET", "/"))
	folder := folderOf(t, page)
	want := strings.ReplaceAll(strings.Replace(index, "</head>",
		`<link rel="modulepreload" href="{static}/vendor/preact.js">
<link rel="modulepreload" href="{static}/js/lib/several.js">
<link rel="modulepreload" href="{static}/js/lib/effect.js">
<link rel="modulepreload" href="{static}/js/lib/again.js">
</head>`, 1), "{static}", strings.TrimPrefix(folder, "/"))
	if diff := cmp.Diff(want, page); diff != "" {
		t.Error(diff)
	}
}

// TestPageBelowAPath: a browser finds the files of each page, also if a proxy serves the console below a path that it
// removes from requests.
func TestPageBelowAPath(t *testing.T) {
	t.Parallel()
	c := web.New(some())
	folder := folderOf(t, textOf(t, get(t, c, "GET", "/")))
	for _, path := range []string{"/", "/jobs", "/jobs/", "/jobs/job/a.b", "/executions/execution/a%2Fb/log",
		"/" + strings.Repeat("x/", 20)} {
		page := textOf(t, get(t, c, "GET", path))
		source := regexp.MustCompile(`src="([^"]+)"`).FindStringSubmatch(page)
		for _, below := range []string{"", "/jobs", "/a/b"} {
			at, err := url.Parse("https://h" + below + path)
			if err != nil {
				t.Fatal(err)
			}
			want := "https://h" + below + folder + "/js/main.js"
			mustMatch := below == "" || len(path) < 40
			if found, err := at.Parse(source[1]); err != nil || found.String() != want && mustMatch {
				t.Errorf("%s: %v, %v, want %s", at, found, err, want)
			}
		}
	}
}

// TestPageIsAskedForEachTime: browsers revalidate the page each time, and it is only sent again after a change.
func TestPageIsAskedForEachTime(t *testing.T) {
	t.Parallel()
	files := some()
	answer := get(t, web.New(files), "GET", "/jobs/a")
	tag := answer.Header.Get("ETag")
	if answer.StatusCode != 200 || answer.Header.Get("Cache-Control") != "no-cache" ||
		answer.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Error(answer.StatusCode, answer.Header)
	}
	again := get(t, web.New(files), "GET", "/", "If-None-Match", tag)
	if text := textOf(t, again); again.StatusCode != http.StatusNotModified || text != "" ||
		again.Header.Get("ETag") != tag {
		t.Error(again.StatusCode, again.Header, text)
	}
	changed := maps.Clone(files)
	changed["icon.svg"] = &fstest.MapFile{Data: []byte("<svg></svg>")}
	if again = get(t, web.New(changed), "GET", "/", "If-None-Match", tag); again.StatusCode != 200 ||
		again.Header.Get("ETag") == tag {
		t.Error(again.StatusCode, again.Header)
	}
}

func TestFilesAreKeptForGood(t *testing.T) {
	t.Parallel()
	files := some()
	c := web.New(files)
	folder := folderOf(t, textOf(t, get(t, c, "GET", "/")))
	for name, kind := range map[string]string{
		"css/base.css": "text/css; charset=utf-8", "js/main.js": "text/javascript; charset=utf-8",
		"icon.svg": "image/svg+xml", "vendor/preact.js": "text/javascript; charset=utf-8",
	} {
		answer := get(t, c, "GET", folder+"/"+name)
		if answer.StatusCode != 200 || answer.Header.Get("Cache-Control") != "public, max-age=31536000, immutable" ||
			answer.Header.Get("Content-Type") != kind {
			t.Errorf("%s: %d %v", name, answer.StatusCode, answer.Header)
		}
		if diff := cmp.Diff(string(files[name].Data), textOf(t, answer)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for _, path := range []string{
		"/static/0123456789abcdef/js/main.js", "/static/js/main.js", "/static/", folder, folder + "/", folder + "/js",
		folder + "/none.js",
		folder + "/index.html", folder + "/vendor/x.d.ts", folder + "/../web.go", folder + "//js/main.js",
	} {
		if answer := get(t, c, "GET", path); answer.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, answer.StatusCode)
		}
	}
}

// TestFilesAreCompressedForWhoTakesIt also checks that a file that compression would not shrink is sent as it is.
func TestFilesAreCompressedForWhoTakesIt(t *testing.T) {
	t.Parallel()
	files := some()
	c := web.New(files)
	folder := folderOf(t, textOf(t, get(t, c, "GET", "/")))
	for _, x := range []struct {
		file, accepts string
		zipped        bool
	}{
		{"css/base.css", "gzip, deflate, br", true}, {"css/base.css", "br;q=1.0, gzip;q=0.8", true},
		{"css/base.css", "", false}, {"css/base.css", "br", false}, {"css/base.css", "gzip;q=0", false}, {"css/base.css", "x-gzip", false},
		{"icon.svg", "gzip", false},
	} {
		answer := get(t, c, "GET", folder+"/"+x.file, "Accept-Encoding", x.accepts)
		if zipped := answer.Header.Get("Content-Encoding") == "gzip"; zipped != x.zipped ||
			answer.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s for %q: %v", x.file, x.accepts, answer.Header)
		}
		body, text := textOf(t, answer), ""
		if answer.ContentLength != int64(len(body)) {
			t.Errorf("%s for %q: %d bytes, said to be %d", x.file, x.accepts, len(body), answer.ContentLength)
		}
		if text = body; x.zipped {
			z, err := gzip.NewReader(bytes.NewReader([]byte(body)))
			if err != nil {
				t.Fatal(err)
			}
			plain, err := io.ReadAll(z)
			if err != nil {
				t.Fatal(err)
			}
			text = string(plain)
		}
		if text != string(files[x.file].Data) {
			t.Errorf("%s for %q: another text", x.file, x.accepts)
		}
		head := get(t, c, "HEAD", folder+"/"+x.file, "Accept-Encoding", x.accepts)
		if diff := cmp.Diff(answer.Header, head.Header); diff != "" || textOf(t, head) != "" {
			t.Errorf("HEAD %s: %s", x.file, diff)
		}
	}
}

// TestNoPageNoConsole: a request for the page returns what is wrong with the files.
func TestNoPageNoConsole(t *testing.T) {
	t.Parallel()
	c := web.New(fstest.MapFS{"js/main.js": {Data: []byte("1")}})
	if answer := get(t, c, "GET", "/"); answer.StatusCode != 500 ||
		!strings.Contains(textOf(t, answer), "index.html") {
		t.Error(answer.StatusCode)
	}
	if answer := get(t, c, "GET", "/static/x/js/main.js"); answer.StatusCode != http.StatusNotFound {
		t.Error(answer.StatusCode)
	}
}

// BenchmarkFirstPage measures the first page of a server, for which it reads and compresses all files.
func BenchmarkFirstPage(b *testing.B) {
	for b.Loop() {
		w := httptest.NewRecorder()
		web.New(web.Static()).Page(w, httptest.NewRequestWithContext(b.Context(), "GET", "/", nil))
		if w.Code != http.StatusOK {
			b.Fatal(w.Body.String())
		}
	}
}
