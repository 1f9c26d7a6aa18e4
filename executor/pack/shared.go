package pack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// All executors of one agent and user share a folder of packages, without knowing each other. They coordinate by
// advisory locks on files in the folder locks. The kernel releases the locks when a process dies, so a crash leaves
// none behind:
//
//   - url-KEY is held exclusively while a URL is fetched or its server is asked for a newer version. So each
//     package is downloaded once, and the executors that wait find it kept.
//   - keep-SHA256 is held exclusively while a content is searched, unpacked, named and recorded. So if several URLs
//     have one content, the first fetch brings it, and the others find it: none replaces a package in which a task
//     is being started.
//   - content-NAME is held shared by each process that uses a content, until Close, and exclusively by the process
//     that removes it. So no package is removed while a task uses it.
//
// A URL's lock is taken before the keep lock, and that before the content's lock. prune only tries content locks
// and never waits, so there is no deadlock.
//
// A content becomes visible by one rename, when it is complete and sealed. Until then it is in tmp, under an
// exclusive lock of its own. If its executor dies, that lock becomes free, and prune removes the folder.

// origin is the record of a URL, in a file of the folder urls: its content when its server was last asked.
type origin struct {
	URL     string  `json:"url"`
	Version version `json:"version"`
	SHA256  string  `json:"sha256"`
	Content string  `json:"content"`
}

// content is a package in the shared folder that this process uses.
type content struct {
	name  string
	state string // digest of its inventory
	// version is the version that its server named; unanswered means that the server gave no answer when it was last
	// asked.
	version    version
	unanswered bool
}

// fetchShared finds the package in the shared folder, or fetches it into the folder.
func (s *Store) fetchShared(ctx context.Context, source Source) (content, error) {
	cache, err := s.openFolders(0o700) // the folders may have been removed
	if err != nil {
		return content{}, err
	}
	defer func() { _ = cache.Close() }()
	key := hashOf(source.URL)
	lock, err := s.lock(ctx, cache, "url-"+key)
	if err != nil {
		return content{}, err
	}
	defer func() { _ = lock.Close() }()

	// The content is locked before the server is asked: the server may answer that nothing has changed, and until
	// then no process may remove the kept package.
	record := path.Join("urls", key)
	var last origin
	if !readRecord(cache, record, &last) {
		last = origin{} // a part of it may have been read
	}
	var known content
	if source.accepts(last.Content) {
		var ok bool
		if known, ok = s.tryUse(ctx, cache, last.Content); ok {
			known.version = last.Version
		}
	}
	if source.hasChecksum() {
		if certain, ok := s.findContent(ctx, cache, strings.ToLower(source.SHA256), source); ok {
			return certain, nil // the checksum is known, so the server need not be asked
		}
	}
	work, err := makeTemporary(cache, "tmp/fetch-")
	if err != nil {
		return content{}, err
	}
	defer s.remove(cache, work)
	in, err := cache.OpenRoot(work)
	if err != nil {
		return content{}, err
	}
	defer func() { _ = in.Close() }()
	if held, err := tryLock(cache, work, os.O_RDONLY, syscall.LOCK_EX); err == nil { // see removeLeftover
		defer func() { _ = held.Close() }()
	}
	sum, got, err := s.fetch(ctx, source, in, known.version)
	var noAnswer unanswered
	switch {
	case errors.Is(err, errUnchanged):
		return known, source.check(last.SHA256)
	case errors.As(err, &noAnswer) && known.name != "" && source.check(last.SHA256) == nil:
		// The package that was last fetched from this URL is probably still the current one. But if the server
		// answers that there is no such package, that counts.
		s.log.Warn("cached package used, because its server does not answer: a newer one may exist", "url",
			redact(source.URL), "sha256", last.SHA256, "error", err)
		known.unanswered = true
		return known, nil
	case err != nil:
		return content{}, err
	}
	found, err := s.addContent(ctx, cache, source, sum, work, in)
	if err != nil {
		return content{}, unpackError{err}
	}
	found.version = got
	last = origin{URL: redact(source.URL), Version: got, SHA256: sum, Content: found.name}
	if err := writeRecord(cache, work, record, last); err != nil {
		s.log.Warn("record of a fetched package not written: it will be fetched again", "url", last.URL, "error", err)
	}
	return found, nil
}

// noVersionFactor is the factor by which a package is used longer before the next check if its server sends no
// version: such a check has to fetch all of it.
const noVersionFactor = 20

// noAnswerFactor is the factor by which a package is used longer before the next check if its server gave no answer:
// the next check may have to wait that long again, and with it all tasks that need the package.
const noAnswerFactor = 4

// nextCheck returns when the server of a package must be asked for a newer version; zero, which means never, if the
// source names the checksum.
func (s *Store) nextCheck(source Source, found content) time.Time {
	if source.hasChecksum() {
		return time.Time{}
	}
	every := s.limits.Check
	if !found.version.known() {
		every *= noVersionFactor
	}
	if found.unanswered {
		every = max(every, noAnswerFactor*s.limits.Check)
	}
	return time.Now().Add(every)
}

// hasChecksum reports whether the source names the content by its full checksum.
func (source Source) hasChecksum() bool { return len(source.SHA256) == hex.EncodedLen(sha256.Size) }

// findContent finds a content by its checksum, as an archive or as a single file with the URL's file name.
func (s *Store) findContent(ctx context.Context, cache *os.Root, sum string, source Source) (content, bool) {
	for _, name := range []string{sum, source.fileName(sum, singleFile), source.fileName(sum, keptWhole)} {
		if !source.accepts(name) {
			continue
		}
		if found, ok := s.tryUse(ctx, cache, name); ok {
			return found, true
		}
	}
	return content{}, false
}

// The characters between checksum and file name in the name of a content that is one file.
const (
	singleFile = '+'
	keptWhole  = '=' // an archive
)

// fileName returns the name of a content that is one file. A long file name is replaced by its hash, because the names
// of contents, and of their locks, are limited like those of files.
func (source Source) fileName(sum string, kind byte) string {
	const longest = 150
	file := baseName(source.parsed())
	if len(file) > longest {
		file = hashOf(file)
	}
	return sum + string(kind) + file
}

// accepts reports whether a content of this name is what unpacking the source gives: whether an archive is unpacked
// depends on the command.
func (source Source) accepts(name string) bool {
	unpackedArchive := len(name) <= hex.EncodedLen(sha256.Size)
	whole := !unpackedArchive && name[hex.EncodedLen(sha256.Size)] == keptWhole
	return !(source.Whole && unpackedArchive || !source.Whole && whole)
}

func (s *Store) content(name string) string { return filepath.Join(s.dir, "content", name) }

// addContent unpacks the fetched file into the shared folder, unless its content is there already, and marks the
// content as used. work is the folder of the fetch, and in is that folder opened.
func (s *Store) addContent(
	ctx context.Context, cache *os.Root, source Source, sum, work string, in *os.Root,
) (content, error) {
	lock, err := s.lock(ctx, cache, "keep-"+sum)
	if err != nil {
		return content{}, err
	}
	defer func() { _ = lock.Close() }()
	if found, ok := s.findContent(ctx, cache, sum, source); ok {
		return found, nil
	}
	format, err := s.unpack(ctx, source, in)
	if err != nil {
		return content{}, err
	}
	root, err := in.OpenRoot(unpacked)
	if err != nil {
		return content{}, err
	}
	defer func() { _ = root.Close() }()
	name, base := sum, baseName(source.parsed())
	if format == formatWhole {
		name = source.fileName(sum, keptWhole)
	} else if entries, err := entriesOf(root, "."); err == nil && len(entries) == 1 && entries[0] == base {
		if info, err := root.Lstat(base); err == nil && info.Mode().IsRegular() {
			name = source.fileName(sum, singleFile)
		}
	}
	sealed, err := seal(ctx, root, s.content(name))
	if err == nil {
		err = s.acquire(ctx, cache, name)
	}
	if err == nil {
		err = s.publish(cache, name, work)
	}
	if err != nil {
		return content{}, err
	}
	if err := writeRecord(cache, work, inventoryName(name), sealed); err != nil {
		s.log.Warn("inventory of a package not written: the next executor will fetch it again", "content", name,
			"error", err)
	}
	return content{name: name, state: sealed.Digest}, nil
}

// errLockHeld means that another executor has held a lock for longer than any fetch may take, so it must be frozen.
var errLockHeld = errors.New("another executor on this agent has held the lock of this package for too long")

// lockMargin is how much longer lock waits than a fetch may take.
const lockMargin = 5 * time.Minute

// lock waits for an exclusive lock. The lock is released when the file is closed, also by the death of the process.
func (s *Store) lock(ctx context.Context, cache *os.Root, name string) (*os.File, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.limits.Transfer+s.limits.Unpacking+lockMargin, errLockHeld)
	defer cancel()
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		f, err := tryLock(cache, path.Join("locks", name), os.O_RDWR|os.O_CREATE, syscall.LOCK_EX)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return f, err
		}
		if err := wait(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// tryLock opens a file or folder below root and locks it. It does not wait for the lock.
func tryLock(root *os.Root, name string, flags, how int) (*os.File, error) {
	f, err := openPlain(root, name, flags)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return f, nil
}

// tryUse marks a content as used by this process until Close. It returns false if the content does not exist or has
// changed since it was unpacked.
func (s *Store) tryUse(ctx context.Context, cache *os.Root, name string) (content, bool) {
	// While a content is being removed, its lock can't be taken; if it was removed before, it does not exist.
	if name == "" || filepath.Base(name) != name ||
		!exists(cache, name) || !s.tryAcquire(cache, name) || !exists(cache, name) {
		return content{}, false
	}
	state, ok := s.verify(ctx, cache, name)
	if !ok {
		return content{}, false
	}
	return content{name: name, state: state}, true
}

func exists(cache *os.Root, name string) bool {
	info, err := cache.Lstat(contentName(name))
	return err == nil && info.IsDir()
}

// acquire takes the shared lock of a content, so that no process removes it.
func (s *Store) acquire(ctx context.Context, cache *os.Root, name string) error {
	const removing = time.Minute // a removal takes much less
	ctx, cancel := context.WithTimeoutCause(ctx, removing, errLockHeld)
	defer cancel()
	for !s.tryAcquire(cache, name) {
		if err := wait(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) tryAcquire(cache *os.Root, name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	lock := path.Join("locks", "content-"+name)
	if held := s.inUse[name]; held != nil {
		ours, err := held.Stat()
		now, lost := cache.Lstat(lock)
		if err == nil && lost == nil && os.SameFile(ours, now) {
			return true
		}
		_ = held.Close() // the lock file was removed, so no other process sees this lock
		delete(s.inUse, name)
	}
	f, err := tryLock(cache, lock, os.O_RDWR|os.O_CREATE, syscall.LOCK_SH)
	if err != nil {
		return false
	}
	now := time.Now()
	_ = cache.Chtimes(lock, now, now)
	s.inUse[name] = f
	return true
}

// prune removes the contents that no process uses and that none has begun to use since before, and the leftovers of
// dead executors in tmp.
func (s *Store) prune(cache *os.Root, before time.Time) {
	contents, _ := entriesOf(cache, "content")
	for _, name := range contents {
		used := path.Join("locks", "content-"+name)
		info, err := cache.Lstat(used)
		if err != nil || info.ModTime().After(before) {
			continue
		}
		lock, err := tryLock(cache, used, os.O_RDWR, syscall.LOCK_EX)
		if err != nil {
			continue
		}
		s.log.Info("unused package removed from the cache", "content", name)
		trash := s.discard(cache, name)
		_ = lock.Close()
		if trash != "" {
			s.remove(cache, trash)
		}
	}
	leftovers, _ := entriesOf(cache, "tmp")
	for _, name := range leftovers {
		s.removeLeftover(cache, path.Join("tmp", name))
	}
}

// removeLeftover removes the folder of an interrupted fetch, whose lock is free. It leaves folders that were
// changed within the last minute, because their owner may not have locked them yet.
func (s *Store) removeLeftover(cache *os.Root, name string) {
	info, err := cache.Lstat(name)
	if err != nil || time.Since(info.ModTime()) < time.Minute {
		return
	}
	folder, err := openPlain(cache, name, os.O_RDONLY)
	if err != nil {
		s.remove(cache, name) // this package creates no such entry
		return
	}
	defer func() { _ = folder.Close() }()
	if syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
		s.remove(cache, name)
	}
}

func (s *Store) remove(root *os.Root, name string) {
	if err := RemoveBelow(root, name); err != nil {
		s.log.Warn("folder not removed", "folder", path.Join(root.Name(), name), "error", err)
	}
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
