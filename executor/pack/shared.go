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

// All executors of one user on an agent share a folder of packages, without knowing each other. They coordinate by
// advisory locks on files in the folder locks. The kernel releases a lock when its process ends, so a crash leaves no
// lock behind.
//
//   - url-KEY is held exclusively while a URL is fetched or its server is asked for a newer version. So each package is
//     downloaded once, and the executors that have waited find it in the folder.
//   - keep-SHA256 is held exclusively while a content is searched, unpacked, named and recorded. So if several URLs
//     have the same content, the first fetch adds it and the others find it. None of them replaces a package in which a task
//     is being started.
//   - content-NAME is held shared by each process that uses a content, until Close, and exclusively by the process that
//     removes it. So no package is removed while a task uses it.
//
// A process takes the lock of a URL before the keep lock, and the keep lock before that of the content. prune only
// tries to take the locks of contents and never waits. So there is no deadlock.
//
// A content becomes visible by one rename, when it is complete and sealed. Until then it is in tmp, under an exclusive
// lock. If its executor dies, that lock becomes free, and prune removes the folder.

// origin is the record of a URL, in a file of the folder urls. It has the URL's content at the last fetch.
type origin struct {
	URL     string  `json:"url"`
	Version version `json:"version"`
	SHA256  string  `json:"sha256"`
	Content string  `json:"content"`
}

// content is a package in the shared folder that this process uses.
type content struct {
	name  string
	state string // the digest of the content's inventory
	// version is the version that the server named.
	version version
	// unanswered means that the server did not answer when it was last asked.
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

	// The content is locked before the server is asked. The server may answer that the package has not changed, and no
	// process may remove the kept package until then.
	record := path.Join("urls", key)
	var last origin
	if !readRecord(cache, record, &last) {
		last = origin{} // a failed read may leave a part of the record
	}
	var cached content
	if source.accepts(last.Content) {
		var ok bool
		if cached, ok = s.tryUse(ctx, cache, last.Content); ok {
			cached.version = last.Version
		}
	}
	if source.hasChecksum() {
		if found, ok := s.findContent(ctx, cache, strings.ToLower(source.SHA256), source); ok {
			return found, nil // the checksum identifies the content, so the server need not be asked
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
	sum, got, err := s.fetch(ctx, source, in, cached.version)
	var noAnswer unanswered
	switch {
	case errors.Is(err, errUnchanged):
		return cached, source.check(last.SHA256)
	case errors.As(err, &noAnswer) && cached.name != "" && source.check(last.SHA256) == nil:
		// The package that was last fetched from this URL is probably still current. This does not apply if the server
		// answers that there is no such package.
		s.log.Warn("cached package used, because its server does not answer: a newer one may exist", "url",
			redact(source.URL), "sha256", last.SHA256, "error", err)
		cached.unanswered = true
		return cached, nil
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

// noVersionFactor multiplies the time until the next check of a package whose server sends no version. The check of
// such a package must fetch the whole package.
const noVersionFactor = 20

// noAnswerFactor multiplies the time until the next check of a package whose server has not answered. The next check
// may have to wait for an answer again, and with it all tasks that need the package.
const noAnswerFactor = 4

// nextCheck returns when the server of a package must be asked for a newer version. It returns zero, which means
// never, if the source has a checksum.
func (s *Store) nextCheck(source Source, found content) time.Time {
	if source.hasChecksum() {
		return time.Time{}
	}
	pause := s.limits.Check
	if !found.version.isKnown() {
		pause *= noVersionFactor
	}
	if found.unanswered {
		pause = max(pause, noAnswerFactor*s.limits.Check)
	}
	return time.Now().Add(pause)
}

// hasChecksum reports whether the source has the whole checksum of the content.
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
	singleFile = '+' // the file is not an archive
	keptWhole  = '=' // the file is an archive
)

// fileName returns the name of a content that is one file. It replaces a long file name by its hash, because the names
// of contents and of their locks are names of files, whose length is limited.
func (source Source) fileName(sum string, kind byte) string {
	const longest = 150
	file := baseName(source.parsed())
	if len(file) > longest {
		file = hashOf(file)
	}
	return sum + string(kind) + file
}

// accepts reports whether the source may use a content with this name. A source that needs the archive whole may not
// use an unpacked archive, and any other source may not use a whole archive.
func (source Source) accepts(name string) bool {
	isUnpacked := len(name) <= hex.EncodedLen(sha256.Size)
	isWhole := !isUnpacked && name[hex.EncodedLen(sha256.Size)] == keptWhole
	if source.Whole {
		return !isUnpacked
	}
	return !isWhole
}

func (s *Store) content(name string) string { return filepath.Join(s.dir, "content", name) }

// addContent unpacks the fetched file into the shared folder, unless the folder has its content, and marks the content
// as used. work is the path of the folder of the fetch, and in is that folder.
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

// errLockHeld means that another executor has held a lock for longer than any fetch may take. That executor must be
// frozen.
var errLockHeld = errors.New("another executor on this agent has held the lock of this package for too long")

// lockMargin is how much longer than a fetch may take lock waits.
const lockMargin = 5 * time.Minute

// lock waits for an exclusive lock. The lock is released when the file is closed or the process ends.
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
func tryLock(root *os.Root, name string, flags, operation int) (*os.File, error) {
	f, err := openPlain(root, name, flags)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), operation|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return f, nil
}

// tryUse marks a content as used by this process until Close. It returns false if the content does not exist or has
// changed since it was unpacked.
func (s *Store) tryUse(ctx context.Context, cache *os.Root, name string) (content, bool) {
	if name == "" || filepath.Base(name) != name {
		return content{}, false
	}
	// While a content is being removed, its lock can't be taken. After that it does not exist, even if the lock is
	// free.
	if !exists(cache, name) || !s.tryAcquire(cache, name) || !exists(cache, name) {
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
	const maxWait = time.Minute // a removal takes much less
	ctx, cancel := context.WithTimeoutCause(ctx, maxWait, errLockHeld)
	defer cancel()
	for !s.tryAcquire(cache, name) {
		if err := wait(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// tryAcquire takes the shared lock of a content, unless this process has it. It does not wait.
func (s *Store) tryAcquire(cache *os.Root, name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	lock := path.Join("locks", "content-"+name)
	if held := s.inUse[name]; held != nil {
		heldInfo, err := held.Stat()
		info, err2 := cache.Lstat(lock)
		if err == nil && err2 == nil && os.SameFile(heldInfo, info) {
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

// prune removes the contents that no process uses and that no process has begun to use since the time before. It also
// removes the leftovers of dead executors in tmp.
func (s *Store) prune(cache *os.Root, before time.Time) {
	contents, _ := entriesOf(cache, "content")
	for _, name := range contents {
		lockName := path.Join("locks", "content-"+name)
		info, err := cache.Lstat(lockName)
		if err != nil || info.ModTime().After(before) {
			continue
		}
		lock, err := tryLock(cache, lockName, os.O_RDWR, syscall.LOCK_EX)
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

// removeLeftover removes the folder of a fetch if it is not locked, which means that the fetch was interrupted. It
// leaves a folder that was changed within the last minute, because its owner may not have locked it yet.
func (s *Store) removeLeftover(cache *os.Root, name string) {
	info, err := cache.Lstat(name)
	if err != nil || time.Since(info.ModTime()) < time.Minute {
		return
	}
	folder, err := openPlain(cache, name, os.O_RDONLY)
	if err != nil {
		s.remove(cache, name) // no store creates such an entry
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
