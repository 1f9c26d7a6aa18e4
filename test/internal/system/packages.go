package system

import (
	"archive/tar"
	"bytes"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// Packages is a web server for the apps' packages.
type Packages struct {
	server *httptest.Server
	mu     sync.Mutex
	files  map[string][]byte
	served map[string]int
}

func newPackages(t testing.TB) *Packages {
	p := &Packages{files: map[string][]byte{}, served: map[string]int{}}
	p.server = httptest.NewServer(p)
	t.Cleanup(p.server.Close)
	return p
}

// Serve sets the content of a path.
func (p *Packages) Serve(path string, content []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.files[path] = content
}

// URL returns the address of a path.
func (p *Packages) URL(path string) string { return p.server.URL + path }

// Host returns the address without the scheme.
func (p *Packages) Host() string { return p.server.Listener.Addr().String() }

// Served returns the number of requests for a path.
func (p *Packages) Served(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.served[path]
}

func (p *Packages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	content, ok := p.files[r.URL.Path]
	p.served[r.URL.Path]++
	p.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(content) // the client may have closed the connection
}

// Files are executable files by name.
type Files map[string]string

// Script returns a script that runs these commands.
func Script(commands string) string { return "#!/bin/sh\n" + commands + "\n" }

// Only returns a package with a single script, the app's.
func Only(commands string) Files { return Files{"bin/start.sh": Script(commands)} }

// Writes is a package whose script writes to the ledger.
var Writes = Files{"bin/start.sh": Ledger}

// Env returns a job's environment from pairs of names and values.
func Env(pairs ...string) map[string]string {
	all := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	return all
}

// Tar packs files into a tar archive, below a top folder unless that is "".
func Tar(t testing.TB, top string, files Files) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := name
		if top != "" {
			path = top + "/" + name
		}
		if err := w.WriteHeader(&tar.Header{Name: path, Mode: 0o755, Size: int64(len(files[name])),
			Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}
