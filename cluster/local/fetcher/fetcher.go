// Package fetcher brings the programs that an executor's command names as URIs into its sandbox, as Mesos' fetcher does: over http,
// https and file, and downloaded once and kept when they say "cache". It fetches programs and nothing else: executors bring the
// packages of their apps themselves.
//
//	URI ──download──▶ file in the cache folder ──link──▶ sandbox/name
//
// A program is linked into sandboxes: executors start often, and a copy takes as much room in each sandbox, and as much writing, as
// the program has.
package fetcher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib"
	"golang.org/x/sys/unix"
)

// Fetcher fetches. Its methods may be called concurrently.
type Fetcher struct {
	cache  *cache
	client *http.Client
}

// patience is how long a download may take. The scheduler that serves its executor is on this machine.
const patience = time.Minute

// New makes a fetcher and its empty cache folder. The folder belongs to the fetcher alone and is emptied, as Mesos does: a URI's
// content is kept no longer than one run of the agent.
func New(cacheDir string) (*Fetcher, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.RegisterProtocol("file", http.NewFileTransportFS(os.DirFS("/")))
	f := &Fetcher{client: &http.Client{Transport: transport, Timeout: patience}}
	var err error
	f.cache, err = newCache(cacheDir, f.download)
	return f, err
}

// Close drops idle connections. Fetches under way go on.
func (f *Fetcher) Close() { f.client.CloseIdleConnections() }

// Fetch brings all uris into the folder sandbox, in order. Its error names the first URI that could not be brought, and why; what
// came before it stays there.
func (f *Fetcher) Fetch(ctx context.Context, uris []mesos.CommandInfo_URI, sandbox string) error {
	for i := range uris {
		if err := f.fetch(ctx, &uris[i], sandbox); err != nil {
			return fmt.Errorf("fetch %q: %w", redact(uris[i].Value), err)
		}
	}
	return nil
}

func (f *Fetcher) fetch(ctx context.Context, uri *mesos.CommandInfo_URI, sandbox string) error {
	name, err := outputName(uri)
	if err != nil {
		return err
	}
	if !uri.GetExecutable() {
		return errors.New("agents of this cluster fetch programs only: set executable, or let the command fetch it")
	}
	get := f.cache.get
	if !uri.GetCache() {
		get = f.cache.once
	}
	program, err := get(ctx, uri.Value)
	if err != nil {
		return err
	}
	defer program.Close()
	return place(program, filepath.Join(sandbox, name))
}

// place links the program into a sandbox. A file or link of that name is replaced, never followed. The program is copied where it
// cannot be linked: it has no name any more, since it was fetched again, or the sandbox is on another file system.
func place(program *os.File, path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", program.Fd()), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW) == nil {
		return nil
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, program)
	return errors.Join(err, file.Close())
}

// download writes the content of uri to w.
func (f *Fetcher) download(ctx context.Context, uri string, w io.Writer) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, uri, nil)
	if err != nil {
		return err
	}
	response, err := f.client.Do(request)
	if err != nil {
		// The client's own error repeats the address, with what may be secret in it.
		if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %s", response.Status)
	}
	_, err = io.Copy(w, response.Body)
	return err
}

// outputName is where uri goes in the sandbox: its output file, or else the last part of the URI, as Mesos takes it (a query
// belongs to it).
func outputName(uri *mesos.CommandInfo_URI) (string, error) {
	if name := uri.GetOutputFile(); name != "" {
		if !filepath.IsLocal(name) || filepath.Base(name) != name {
			return "", fmt.Errorf("output file %q is not a name within the sandbox", name)
		}
		return name, nil
	}
	_, rest, found := strings.Cut(uri.Value, "://")
	if !found {
		rest = uri.Value
	}
	slash := strings.LastIndexByte(rest, '/')
	name := rest[slash+1:]
	if slash < 0 || name == "" || name == "." || name == ".." || strings.ContainsAny(name, "\\'\x00") {
		return "", errors.New("has no file name at its end")
	}
	return name, nil
}

// redact hides a password in a URI: errors go to logs.
func redact(uri string) string {
	if parsed, err := url.Parse(uri); err == nil && parsed.User != nil {
		return parsed.Redacted()
	}
	return uri
}
