// Package fetcher brings the programs that an executor's command names as URIs, as Mesos' fetcher does: over http,
// https and file, and downloaded once and kept when they say "cache". It fetches programs and nothing else: executors
// bring the packages of their apps themselves.
//
// A program has no name from before its download on: it is a file that only descriptors lead to, and executed by one.
// What is executed is therefore what was fetched, byte for byte, and what its checksum says, if the URI ends with one.
// Tasks can run as the agent's user, to whom no file with a name would be closed. Only for a command of the shell,
// which finds programs by their names, there are copies in the sandbox.
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

	"github.com/mesos/mesos-go/api/v1/lib"
)

// Fetcher fetches. Its methods may be called concurrently.
type Fetcher struct {
	cache  *cache
	client *http.Client
}

// patience is how long a download may take. The scheduler that serves its executor is on this machine.
const patience = time.Minute

// New makes a fetcher and its empty cache folder. The folder belongs to the fetcher alone and is emptied, as Mesos
// does: a URI's content is kept no longer than one run of the agent.
func New(cacheDir string) (*Fetcher, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.RegisterProtocol("file", http.NewFileTransportFS(os.DirFS("/")))
	f := &Fetcher{client: &http.Client{Transport: transport, Timeout: patience}}
	var err error
	f.cache, err = newCache(cacheDir, f.download)
	return f, err
}

// Close drops what is kept, and idle connections. Fetches under way go on.
func (f *Fetcher) Close() {
	f.client.CloseIdleConnections()
	f.cache.close()
}

// Programs are opened programs by the names that they have for their command.
type Programs map[string]*os.File

// Close closes them.
func (p Programs) Close() {
	for _, program := range p {
		_ = program.Close()
	}
}

// Copy puts copies into a folder, in which nothing has their names yet.
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

// Fetch brings all uris. Its error names the first URI that could not be brought, and why. Programs are to be closed.
func (f *Fetcher) Fetch(ctx context.Context, uris []mesos.CommandInfo_URI) (Programs, error) {
	all := Programs{}
	for i := range uris {
		name, program, err := f.fetch(ctx, &uris[i])
		if err != nil {
			all.Close()
			return nil, fmt.Errorf("fetch %q: %w", redact(uris[i].Value), err)
		}
		if before := all[name]; before != nil {
			_ = before.Close() // the last one counts
		}
		all[name] = program
	}
	return all, nil
}

func (f *Fetcher) fetch(ctx context.Context, uri *mesos.CommandInfo_URI) (name string, program *os.File, err error) {
	if name, err = outputName(uri); err != nil {
		return "", nil, err
	}
	if !uri.GetExecutable() {
		return "", nil, errors.New("agents of this cluster fetch programs only: set executable, or let the command fetch it")
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
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(w, sum), response.Body); err != nil {
		return err
	}
	if want := checksum.FindStringSubmatch(uri); want != nil && want[1] != hex.EncodeToString(sum.Sum(nil)) {
		return fmt.Errorf("its sha256 is %x: it is damaged, or was changed", sum.Sum(nil))
	}
	return nil
}

// checksum finds the SHA-256 that a program's address may end with.
var checksum = regexp.MustCompile(`-([0-9a-f]{64})$`)

// outputName is where uri goes in the sandbox: its output file, or else the last part of the URI, as Mesos takes it (a
// query belongs to it).
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
