// Package fetcher brings the URIs of a command into a sandbox, as Mesos' fetcher does: http, https, file and absolute paths; made
// executable or left as they are, and downloaded once and kept when they say "cache". A program that is kept is linked into
// sandboxes, what else is kept is copied. Archives are not unpacked here: executors bring the packages of their apps themselves.
//
// A URI goes through it in two steps: its source is opened (the network, a local file, or the cache, which opens the source at most
// once), then it is written into the sandbox under its output name. Everything that is written goes through os.Root, so that no
// symbolic link can lead out of the sandbox.
package fetcher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib"
)

// Options of a Fetcher; zero values mean the defaults.
type Options struct {
	// CacheDir holds what is fetched with "cache". It belongs to the fetcher alone and is emptied by New, as Mesos does: a URI's
	// content is kept no longer than one run of the agent.
	CacheDir string
	// Client downloads; by default one with a time limit for connecting and for answering.
	Client *http.Client
	// Stall ends a download that brings nothing for so long; 1 minute by default.
	Stall time.Duration
}

// Fetcher fetches. Its methods may be called concurrently.
type Fetcher struct {
	options Options
	cache   *cache
}

// New makes a fetcher and its empty cache folder.
func New(options Options) (*Fetcher, error) {
	if options.Stall == 0 {
		options.Stall = time.Minute
	}
	if options.Client == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.ResponseHeaderTimeout = options.Stall
		options.Client = &http.Client{Transport: transport}
	}
	cache, err := newCache(options.CacheDir)
	if err != nil {
		return nil, err
	}
	return &Fetcher{options: options, cache: cache}, nil
}

// Close drops idle connections. Fetches under way go on.
func (f *Fetcher) Close() { f.options.Client.CloseIdleConnections() }

// Fetch brings all uris into the folder sandbox, in order. Its error names the first URI that could not be brought, and why; what
// came before it stays there.
func (f *Fetcher) Fetch(ctx context.Context, uris []mesos.CommandInfo_URI, sandbox string) error {
	if len(uris) == 0 {
		return nil
	}
	root, err := os.OpenRoot(sandbox)
	if err != nil {
		return fmt.Errorf("open the sandbox to fetch into: %w", err)
	}
	defer root.Close()
	for i := range uris {
		if err := f.fetch(ctx, &uris[i], root); err != nil {
			return fmt.Errorf("fetch %q: %w", redact(uris[i].Value), err)
		}
	}
	return nil
}

func (f *Fetcher) fetch(ctx context.Context, uri *mesos.CommandInfo_URI, root *os.Root) error {
	name, err := outputName(uri)
	if err != nil {
		return err
	}
	if isArchive(name) && !uri.GetExecutable() && (uri.Extract == nil || *uri.Extract) {
		return errors.New("archives are not unpacked by this cluster's agents: set extract to false, and let the command unpack it")
	}
	source := func(ctx context.Context, to io.Writer) error { return f.open(ctx, uri.Value, to) }
	mode := os.FileMode(0o644)
	if uri.GetExecutable() {
		mode = 0o755
	}
	if uri.GetCache() {
		cached, err := f.cache.get(ctx, uri.Value, source)
		if err != nil {
			return err
		}
		defer cached.Close()
		if linked, err := linkProgram(uri, cached, root, name); linked || err != nil {
			return err
		}
		source = func(_ context.Context, to io.Writer) error {
			_, err := io.Copy(to, cached)
			return err
		}
	}
	return write(ctx, root, name, mode, source)
}

// isArchive reports whether Mesos would unpack a file of that name.
func isArchive(name string) bool {
	return slices.ContainsFunc([]string{".tar", ".tgz", ".gz", ".tbz2", ".tar.bz2", ".txz", ".tar.xz", ".zip"}, func(suffix string) bool {
		return strings.HasSuffix(name, suffix)
	})
}

// linkProgram brings a cached program into the sandbox as a link to the one in the cache: executors start often, and a copy takes
// as much room in each sandbox, and as much writing, as the program has. Where that can't be, it is copied.
func linkProgram(uri *mesos.CommandInfo_URI, cached *os.File, root *os.Root, name string) (bool, error) {
	if !uri.GetExecutable() {
		return false, nil
	}
	if err := root.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("replace %q: %w", name, err)
	}
	return link(cached, filepath.Join(root.Name(), name)) == nil, nil
}

// write makes a new file: one that is there, or a link, is replaced, never followed.
func write(ctx context.Context, root *os.Root, name string, mode os.FileMode, source func(context.Context, io.Writer) error) (err error) {
	if err := root.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("replace %q: %w", name, err)
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := source(ctx, file); err != nil {
		return err
	}
	// The process' umask must not take the execute bit away.
	return file.Chmod(mode)
}

// open writes the content of uri to w.
func (f *Fetcher) open(ctx context.Context, uri string, w io.Writer) error {
	scheme, rest, found := strings.Cut(uri, "://")
	switch {
	case !found && filepath.IsAbs(uri):
		return copyFile(uri, w)
	case !found:
		return errors.New("is neither a URL nor an absolute path")
	}
	switch strings.ToLower(scheme) {
	case "http", "https":
		return f.download(ctx, uri, w)
	case "file":
		if !filepath.IsAbs(rest) {
			return errors.New("file URIs need an absolute path: file:///…")
		}
		return copyFile(rest, w)
	default:
		return fmt.Errorf("scheme %q is not supported; use http, https or file", scheme)
	}
}

func copyFile(name string, w io.Writer) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil {
		return err
	} else if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", name)
	}
	_, err = io.Copy(w, file)
	return err
}

var errStalled = errors.New("nothing came for too long")

func (f *Fetcher) download(ctx context.Context, uri string, w io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, uri, nil)
	if err != nil {
		return err
	}
	response, err := f.options.Client.Do(request)
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
	stall := time.AfterFunc(f.options.Stall, func() { cancel(errStalled) })
	defer stall.Stop()
	_, err = io.Copy(w, readerFunc(func(p []byte) (int, error) {
		n, err := response.Body.Read(p)
		stall.Reset(f.options.Stall)
		return n, err
	}))
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errStalled) {
		return fmt.Errorf("%w (%v)", errStalled, f.options.Stall)
	}
	return err
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// outputName is where uri goes in the sandbox: its output file, or else the last part of the URI, as Mesos takes it (a query
// belongs to it).
func outputName(uri *mesos.CommandInfo_URI) (string, error) {
	if name := uri.GetOutputFile(); name != "" {
		if !filepath.IsLocal(name) || path.Base(name) != name {
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
