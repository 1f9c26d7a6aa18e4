package pack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// Source is a package as a task refers to it.
type Source struct {
	URL string
	// SHA256 is the checksum in hexadecimal; empty if it is not known.
	SHA256 string
	// Cache allows the use of a copy that was fetched for an earlier task.
	Cache bool
	// Whole means that an archive is kept as one file, with the URL's file name, because the task's command names that
	// file.
	Whole bool
}

// Package is an unpacked package. Its user must call Release at the end. A package that is not cached is then removed.
type Package struct {
	Dir string
	// SHA256 is the checksum of the fetched file, in hex.
	SHA256 string
	// State identifies the state of Dir. It changes when Dir is replaced. It is empty for a package that is not
	// cached, which only one task uses.
	State string
	// Note says that the cached package was found changed, and so was fetched again for this use; usually empty.
	Note    string
	Release func()
}

// Store keeps unpacked packages. Several processes may use one folder concurrently. They coordinate by flock, and
// rename what they have written to its final name when it is complete.
//
//	content/<sha256>[+name]/  an unpacked package; +name if it is a single file, =name if it is an archive kept whole
//	locks/…                   flocked: exclusive while fetched or removed, shared while used
//	urls/<hash of URL>        the content that was last fetched from a URL
//	whole/…                   a package's inventory, taken when it was unpacked
//	tmp/…                     unfinished fetches, and packages that are being removed
//
// Files of a package have no write permission, because tasks share them. Folders have it, so that an operator can
// remove the cache with rm. A package that was changed or removed is fetched again (inventory.go). The methods may be
// called concurrently, except for OpenFilesWith and Close.
type Store struct {
	dir      string // the shared folder, for packages that are cached
	private  string // the folder of this executor, for packages that are not cached
	limits   Limits
	download *downloader
	log      *slog.Logger

	fetches sync.WaitGroup

	mu      sync.Mutex
	entries map[Source]*entry
	inUse   map[string]*os.File // the shared locks, by the names of contents
	changes map[string]string   // the descriptions of changes, by the names of contents, for the next note
	number  int
}

// entry is the fetch of one source, shared by all tasks that need it.
type entry struct {
	cancel context.CancelFunc
	done   chan struct{}

	// These fields are set before done is closed.
	Package           // its Note is for the tasks that have waited for the fetch
	name    string    // the name of the content; empty if Dir is private
	version version   // the version of the file or of the server's answer
	due     time.Time // the time of the next check with the server; zero means never
	err     error

	// The store's mutex guards these fields.
	waiters      int
	trustedUntil time.Time    // the time until which the package counts as intact
	states       []entryState // the states of its entries when it was last intact
}

// contentRetention is how long a package is kept after its last use.
const contentRetention = 7 * 24 * time.Hour

// Open opens a store in the shared folder dir, with the folder private for packages that are not cached. The caller
// must call Close at the end.
func Open(dir, private string, limits Limits, log *slog.Logger) (*Store, error) {
	s := &Store{
		dir: dir, private: private, limits: limits, log: log, entries: map[Source]*entry{},
		inUse: map[string]*os.File{}, changes: map[string]string{},
	}
	cache, err := s.openFolders(0o755)
	if err != nil {
		return nil, err
	}
	defer func() { _ = cache.Close() }()
	s.download = newDownloader(limits, OpenFile, log)
	s.prune(cache, time.Now().Add(-contentRetention))
	return s, nil
}

// OpenFilesWith sets the function that opens packages of this machine. It is for tasks whose user may not read all
// files that this process can read. It must be called before Get.
func (s *Store) OpenFilesWith(open func(path string) (*os.File, error)) { s.download.open = open }

// OpenFile opens a package of this machine. It does not block if the path is a named pipe.
func OpenFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// openFolders creates the store's missing folders, and opens the folder that contains them.
func (s *Store) openFolders(mode os.FileMode) (cache *os.Root, err error) {
	if err = os.MkdirAll(s.dir, mode); err == nil {
		cache, err = os.OpenRoot(s.dir)
	}
	if err != nil {
		return nil, fmt.Errorf("create the package cache: %w", err)
	}
	for _, folder := range []string{"content", "locks", "urls", "whole", "tmp"} {
		if err := makeFolder(cache, folder); err != nil {
			return nil, errors.Join(fmt.Errorf("create the package cache: %w", err), cache.Close())
		}
	}
	return cache, nil
}

// Close cancels running fetches, releases the locks of this process, and removes packages that are not cached.
func (s *Store) Close() {
	s.mu.Lock()
	for _, e := range s.entries {
		e.cancel()
	}
	s.mu.Unlock()
	s.fetches.Wait()
	s.download.client.CloseIdleConnections()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, lock := range s.inUse {
		_ = lock.Close()
	}
	clear(s.inUse)
	s.removePrivate("")
}

// Ready returns the package without waiting, if the store has it, it is unchanged, and its server need not be asked
// for a newer version.
func (s *Store) Ready(source Source) (Package, bool) {
	if !source.Cache {
		return Package{}, false
	}
	s.mu.Lock()
	e := s.entries[source]
	s.mu.Unlock()
	if e == nil {
		return Package{}, false
	}
	select {
	case <-e.done:
	default:
		return Package{}, false
	}
	if e.err != nil {
		return Package{}, false
	}
	ok, change := s.intact(e)
	if ok && !s.mustCheck(source, e) {
		ready := e.Package
		ready.Note = ""
		return ready, true
	}
	s.mu.Lock()
	current := s.dropEntry(source, e)
	s.mu.Unlock()
	if current && !ok {
		s.recordChange(e.name, change)
	}
	return Package{}, false
}

// mustCheck reports whether there may be a newer package, because the time of the next check has come or because the
// URL names a file on this machine that was replaced. Users replace such a file while they try a job, so it is checked
// before each use.
func (s *Store) mustCheck(source Source, e *entry) bool {
	if e.due.IsZero() {
		return false
	}
	return !time.Now().Before(e.due) || s.download.wasReplaced(source.URL, e.version)
}

// dropEntry removes the entry, so that the next task that needs the package looks for it again. It returns false if
// another goroutine has done so before. The caller holds mu.
func (s *Store) dropEntry(source Source, e *entry) bool {
	current := s.entries[source] == e
	if current {
		delete(s.entries, source)
	}
	return current
}

// Get fetches the package, or waits for another task's fetch of it. The error is an [*Error], or the context's
// cause.
func (s *Store) Get(ctx context.Context, source Source) (Package, error) {
	if _, err := parse(source.URL); err != nil {
		return Package{}, &Error{Phase: wire.PhaseFetch, URL: source.URL, Err: err}
	}
	if !source.Cache {
		private, err := s.fetchPrivate(ctx, source)
		return private, explain(ctx, source, err)
	}
	if ready, ok := s.Ready(source); ok {
		return ready, nil
	}
	s.mu.Lock()
	e := s.entries[source]
	if e == nil {
		// The fetch belongs to all tasks that wait for it. It is cancelled when no task waits any more.
		fetchCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		e = &entry{done: make(chan struct{}), cancel: cancel}
		s.entries[source] = e
		s.fetches.Go(func() {
			defer cancel()
			defer close(e.done)
			if e.err = explain(fetchCtx, source, s.fetchCached(fetchCtx, source, e)); e.err != nil {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.dropEntry(source, e) // the next task starts a new fetch
			}
		})
	}
	e.waiters++
	s.mu.Unlock()
	select {
	case <-e.done:
		return e.Package, e.err
	case <-ctx.Done():
		s.stopWaiting(source, e)
		return Package{}, context.Cause(ctx)
	}
}

// stopWaiting ends one task's wait, and cancels the fetch if no other task waits for it.
func (s *Store) stopWaiting(source Source, e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.waiters--
	if e.waiters > 0 {
		return
	}
	select {
	case <-e.done:
	default:
		e.cancel()
		s.dropEntry(source, e)
	}
}

// fetchCached gets the package from the shared folder, and sets the entry's fields. If another executor holds a lock
// for too long, it fetches a copy for this executor alone.
func (s *Store) fetchCached(ctx context.Context, source Source, e *entry) error {
	found, err := s.fetchShared(ctx, source)
	if errors.Is(err, errLockHeld) {
		s.log.Warn("package fetched for this executor alone", "url", redact(source.URL), "reason", err)
		private, err := s.fetchPrivate(ctx, source)
		if err != nil {
			return err
		}
		sealed, err := s.sealPrivate(ctx, private.Dir)
		if err != nil {
			return unpackError{err}
		}
		e.Package = Package{Dir: private.Dir, SHA256: private.SHA256, State: sealed.Digest, Release: func() {}}
		return nil
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := found.name[:min(len(found.name), hex.EncodedLen(sha256.Size))]
	e.name, e.version, e.due = found.name, found.version, s.nextCheck(source, found)
	e.Package = Package{Dir: s.content(found.name), SHA256: sum, State: found.state, Note: s.changes[found.name],
		Release: func() {}}
	delete(s.changes, found.name)
	return nil
}

// Entries of the folder of a fetch: the downloaded file and the unpacked package.
const (
	download = "download"
	unpacked = "package"
)

// fetchAndUnpack fetches and unpacks a package in a folder, and leaves nothing else there.
func (s *Store) fetchAndUnpack(ctx context.Context, source Source, in *os.Root) (sum string, err error) {
	sum, _, err = s.fetch(ctx, source, in, version{})
	if err != nil {
		return "", err
	}
	if _, err := s.unpack(ctx, source, in); err != nil {
		return "", unpackError{err}
	}
	_ = in.Remove(download)
	return sum, nil
}

// fetch downloads a package into a folder and compares its checksum with the source's. The error is errUnchanged if
// the server has no newer version than cached.
func (s *Store) fetch(
	ctx context.Context, source Source, in *os.Root, cached version,
) (sum string, got version, err error) {
	f, err := in.OpenFile(download, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", version{}, err
	}
	begun := time.Now()
	sum, got, err = s.download.get(ctx, source.parsed(), f, cached)
	info, statErr := f.Stat()
	err = errors.Join(err, statErr, f.Close())
	if errors.Is(err, errUnchanged) {
		s.log.Info("package unchanged", "url", redact(source.URL))
	}
	if err != nil {
		return "", version{}, err
	}
	s.log.Info("package fetched", "url", redact(source.URL), "bytes", info.Size(), "took",
		time.Since(begun).Round(time.Millisecond), "sha256", sum)
	return sum, got, source.check(sum)
}

// check returns an error if the source has another checksum than the package.
func (source Source) check(sum string) error {
	if source.SHA256 == "" || strings.EqualFold(source.SHA256, sum) {
		return nil
	}
	return fmt.Errorf("its sha256 is %s, but the app's is %s: publish the app with the right checksum, or the right package", sum, strings.ToLower(source.SHA256))
}

// parsed returns the URL, which Get has checked.
func (source Source) parsed() *url.URL {
	u, _ := parse(source.URL)
	return u
}

// unpack unpacks the downloaded file in the folder of a fetch.
func (s *Store) unpack(ctx context.Context, source Source, in *os.Root) (format string, err error) {
	if err := in.Mkdir(unpacked, 0o755); err != nil {
		return "", err
	}
	file, err := openPlain(in, download, os.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	root, err := in.OpenRoot(unpacked)
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }()
	defer debug.FreeOSMemory() // decoders use much memory, which is not needed afterwards
	return unpackFile(ctx, file, root, source, s.limits)
}
