// Package web serves the console: its page, the page with the description of the API, and the files of both.
//
// A browser runs the files below static unchanged; there is no build step. The address of each file contains a hash
// over all files, so that browsers can cache files forever and never mix those of two versions. The page contains the
// hash, and browsers revalidate the page each time.
package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

//go:embed static
var static embed.FS

// Static returns the console's own files.
func Static() fs.FS {
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err) // cannot happen, because the name is valid
	}
	return files
}

// page is the only page of the console, docs the page with the description of the API. In these two, placeholder
// stands for the address of the folder with the files.
const (
	page        = "index.html"
	docs        = "docs.html"
	placeholder = "{static}"
)

// Console serves the pages and files. It reads them at the first request.
type Console struct {
	load func() (*content, error)
}

// New returns a console with these files, which must include index.html and docs.html. If they do not, or cannot be
// read, every page is answered with that error.
func New(files fs.FS) *Console {
	return &Console{load: sync.OnceValues(func() (*content, error) { return load(files) })}
}

// Page answers with the same page for any path. The page's script reads the path.
func (c *Console) Page(w http.ResponseWriter, r *http.Request) { c.page(w, r, page) }

// Docs answers with the page that shows the description of the API.
func (c *Console) Docs(w http.ResponseWriter, r *http.Request) { c.page(w, r, docs) }

// page answers with one of the pages.
func (c *Console) page(w http.ResponseWriter, r *http.Request, name string) {
	all, err := c.load()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", all.tag)
	h.Add("Vary", "Accept")
	if strings.Contains(r.Header.Get("If-None-Match"), all.tag) {
		h.Add("Vary", "Accept-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	all.pageAt(name, strings.Count(r.URL.EscapedPath(), "/")).write(w, r)
}

// Static answers with the file whose address, /static/{hash}/{file}, is the path of the request. If there is no such
// file, for example because a page of another version requests it, Static writes nothing and returns false.
func (c *Console) Static(w http.ResponseWriter, r *http.Request) bool {
	all, err := c.load()
	if err != nil {
		return false
	}
	name, ok := strings.CutPrefix(r.URL.Path, all.folder+"/")
	file := all.files[name]
	if !ok || file == nil {
		return false
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	file.write(w, r)
	return true
}

// maxDepth is the number of slashes in the longest path of a page.
const maxDepth = 8

// pageAt returns a page for a path with so many slashes. The addresses of files in it are relative to that path, so
// that they also work if a proxy serves the console below another path, which this server does not know. The console
// has no path with more than maxDepth slashes; the page for such a path has absolute addresses.
func (c *content) pageAt(name string, slashes int) *file {
	depth := slashes
	if depth < 1 || depth > maxDepth {
		depth = 0
	}
	return c.pages[name][depth]
}

// content is everything that a console serves.
type content struct {
	folder string             // the folder of the files' addresses: /static/ and the hash
	pages  map[string][]*file // by name and number of slashes; the first of each has absolute addresses
	tag    string             // the ETag of the pages
	files  map[string]*file
}

// load reads all files, but for the type declarations, and prepares the answers.
func load(files fs.FS) (*content, error) {
	texts, hash := map[string][]byte{}, sha256.New()
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(name, ".d.ts") {
			return err
		}
		text, err := fs.ReadFile(files, name)
		fmt.Fprintf(hash, "%s %d\n%s", name, len(text), text)
		texts[name] = text
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the console's files: %w", err)
	}
	sum := hex.EncodeToString(hash.Sum(nil)[:8])
	all := &content{folder: "/static/" + sum, tag: `W/"` + sum + `"`, pages: map[string][]*file{},
		files: map[string]*file{}}
	for _, name := range []string{page, docs} {
		text, ok := texts[name]
		if !ok {
			return nil, fmt.Errorf("the console's files lack %s", name)
		}
		delete(texts, name)
		text = preload(text, texts)
		for depth := range maxDepth + 1 {
			folder := all.folder
			if depth > 0 {
				folder = strings.Repeat("../", depth-1) + strings.TrimPrefix(folder, "/")
			}
			withAddresses := bytes.ReplaceAll(text, []byte(placeholder), []byte(folder))
			all.pages[name] = append(all.pages[name], newFile(name, withAddresses))
		}
	}
	for name, text := range texts {
		all.files[name] = newFile(name, text)
	}
	return all, nil
}

// file is a response body, plain and compressed.
type file struct {
	kind          string
	plain, zipped []byte // zipped is nil if compression does not make the text smaller
}

func newFile(name string, text []byte) *file {
	f := &file{kind: kindOf(name), plain: text}
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	_, _ = z.Write(text)                                  // writes to memory
	_ = z.Close()
	if b.Len() < len(text) {
		f.zipped = b.Bytes()
	}
	return f
}

// write sends the file, compressed if the client accepts that.
func (f *file) write(w http.ResponseWriter, r *http.Request) {
	h, body := w.Header(), f.plain
	h.Set("Content-Type", f.kind)
	h.Add("Vary", "Accept-Encoding")
	if f.zipped != nil && acceptsGzip(r) {
		h.Set("Content-Encoding", "gzip")
		body = f.zipped
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// kindOf returns the content type for the extension of a name. It does not use the machine's own table, because that is
// not the same on every machine.
func kindOf(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return "text/plain; charset=utf-8"
}

// acceptsGzip reports whether the client accepts gzip: Accept-Encoding names it, and not with q=0.
func acceptsGzip(r *http.Request) bool {
	for encoding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, params, err := mime.ParseMediaType(strings.TrimSpace(encoding))
		if err != nil || name != "gzip" {
			continue
		}
		q, err := strconv.ParseFloat(params["q"], 64)
		return err != nil || q > 0
	}
	return false
}
