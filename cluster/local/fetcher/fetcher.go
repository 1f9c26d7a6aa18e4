// Package fetcher fetches the programs that an executor's command names as URIs, as Mesos' fetcher does: over http,
// https and file. A program whose URI says "cache" is downloaded once and kept. It fetches programs only; executors
// fetch the packages of their apps themselves.
//
// A program is downloaded into a file that is unlinked before, so it can be read and executed only through its
// descriptor. The executed program is therefore exactly the fetched one. If its URI ends with a checksum, the program
// matches that. A file with a name would not be safe, because tasks may run as the agent's user and could replace it.
// Shell commands find programs by name, so these commands get copies in the sandbox.
package fetcher

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
)

// Fetcher fetches programs. Its methods may be called concurrently.
type Fetcher struct {
	cache  *cache
	client *http.Client
}

// downloadTimeout limits the time of one download. A minute suffices, because the scheduler that serves the program is
// on the same machine.
const downloadTimeout = time.Minute

// New creates a fetcher and its cache folder. The folder belongs to the fetcher alone and is emptied, as in
// Mesos, so that a URI's content is kept for at most one run of the agent.
func New(cacheDir string) (*Fetcher, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.RegisterProtocol("file", http.NewFileTransportFS(os.DirFS("/")))
	f := &Fetcher{client: &http.Client{Transport: transport, Timeout: downloadTimeout}}
	var err error
	f.cache, err = newCache(cacheDir, f.download)
	return f, err
}

// Close drops the cached programs and idle connections. Fetches in progress continue.
func (f *Fetcher) Close() {
	f.client.CloseIdleConnections()
	f.cache.close()
}

// Programs are opened programs, by the name under which their command refers to them.
type Programs map[string]*os.File

// Close closes all programs.
func (p Programs) Close() {
	for _, program := range p {
		_ = program.Close()
	}
}

// Copy copies the programs into a folder that has no files of these names yet.
func (p Programs) Copy(folder string) error {
	for name, program := range p {
		file, err := os.OpenFile(filepath.Join(folder, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
		if err != nil {
			return err
		}
		_, err = io.Copy(file, io.NewSectionReader(program, 0, math.MaxInt64))
		if err = errors.Join(err, file.Close()); err != nil {
			return fmt.Errorf("copy %s: %w", name, err)
		}
	}
	return nil
}

// Fetch fetches all uris. The error names the first URI that failed, and the reason. The caller must close the
// programs.
func (f *Fetcher) Fetch(ctx context.Context, uris []mesos.CommandInfo_URI) (Programs, error) {
	all := Programs{}
	for i := range uris {
		name, program, err := f.fetch(ctx, &uris[i])
		if err != nil {
			all.Close()
			return nil, fmt.Errorf("fetch %q: %w", redact(uris[i].Value), err)
		}
		if before := all[name]; before != nil {
			_ = before.Close() // the last one takes precedence
		}
		all[name] = program
	}
	return all, nil
}

// fetch fetches one program, from the cache if its URI says so. name is the program's name in the sandbox.
func (f *Fetcher) fetch(ctx context.Context, uri *mesos.CommandInfo_URI) (name string, program *os.File, err error) {
	if name, err = outputName(uri); err != nil {
		return "", nil, err
	}
	if !uri.GetExecutable() {
		return "", nil, errors.New("agents of this cluster fetch only programs: set executable, or let the command fetch the file")
	}
	get := f.cache.get
	if !uri.GetCache() {
		get = f.cache.fetch
	}
	program, err = get(ctx, uri.Value)
	return name, program, err
}

// download writes the content of uri to w.
func (f *Fetcher) download(ctx context.Context, uri string, w io.Writer) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, uri, nil)
	if err != nil {
		return err
	}
	response, err := f.client.Do(request)
	if err != nil {
		// The client's own error repeats the URL, which may contain secrets.
		if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %s", response.Status)
	}
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(w, sum), response.Body); err != nil {
		return err
	}
	if want := checksum.FindStringSubmatch(uri); want != nil && want[1] != hex.EncodeToString(sum.Sum(nil)) {
		return fmt.Errorf("its sha256 is %x: it was damaged or changed", sum.Sum(nil))
	}
	return nil
}

// checksum matches the SHA-256 that a program's URI may end with.
var checksum = regexp.MustCompile(`-([0-9a-f]{64})$`)

// outputName returns the program's name in the sandbox: its output file, or else the last part of the URI, including a
// query, as in Mesos.
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
		return "", errors.New("must end with a file name")
	}
	return name, nil
}

// redact hides a password in a URI, because errors are logged.
func redact(uri string) string {
	if parsed, err := url.Parse(uri); err == nil && parsed.User != nil {
		return parsed.Redacted()
	}
	return uri
}
