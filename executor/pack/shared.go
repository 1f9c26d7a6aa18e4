package pack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// origin is what a file below urls holds.
type origin struct {
	URL     string  `json:"url"`
	Version version `json:"version"`
	SHA256  string  `json:"sha256"`
	Content string  `json:"content"`
}

// shared finds or makes the package in the shared folder. address is for locks and records.
func (s *Store) shared(ctx context.Context, source Source, address string) (string, error) {
	fail := func(err error) (string, error) {
		return "", &Error{Phase: Fetch, URL: source.URL, Err: err}
	}
	key := keyOf(source.URL)
	lock, err := s.lock(ctx, "url-"+key)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = lock.Close() }()

	known := s.origin(key)
	if known.Content != "" && !s.use(known.Content) {
		known = origin{}
	}
	if name, ok := s.certain(source); ok {
		return s.content(name), nil // nothing to ask
	}
	work, err := os.MkdirTemp(filepath.Join(s.dir, "tmp"), "fetch-")
	if err != nil {
		return fail(err)
	}
	defer s.remove(work)
	if held, err := os.Open(work); err == nil {
		_ = syscall.Flock(int(held.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) // see prune
		defer func() { _ = held.Close() }()
	}
	file := filepath.Join(work, "download")
	sum, got, err := s.fetch(ctx, source, file, known.Version)
	if errors.Is(err, errUnchanged) {
		if err := s.check(source, known.SHA256); err != nil {
			return "", err
		}
		return s.content(known.Content), nil
	}
	if err != nil {
		return "", err
	}
	if err := s.check(source, sum); err != nil {
		return "", err
	}
	name, err := s.keep(ctx, source, file, sum, work)
	if err != nil {
		return "", err
	}
	record, err := json.Marshal(origin{URL: address, Version: got, SHA256: sum, Content: name})
	if err == nil {
		err = os.WriteFile(filepath.Join(work, "origin"), record, 0o644)
	}
	if err == nil {
		err = os.Rename(filepath.Join(work, "origin"), filepath.Join(s.dir, "urls", key))
	}
	if err != nil {
		s.log.Warn("the package is here but will be fetched again", "url", address, "error", err)
	}
	return s.content(name), nil
}

// certain finds the content by the sum that a source names.
func (s *Store) certain(source Source) (string, bool) {
	if len(source.SHA256) != hex.EncodedLen(sha256.Size) {
		return "", false
	}
	return s.have(strings.ToLower(source.SHA256), source.URL)
}

// have finds a content by its sum, as an archive or as a single file of the URL's name.
func (s *Store) have(sum, address string) (string, bool) {
	names := []string{sum}
	if u, err := parse(address); err == nil {
		names = append(names, sum+"+"+baseName(u))
	}
	for _, name := range names {
		if filepath.Base(name) == name && s.use(name) {
			return name, true
		}
	}
	return "", false
}

func (s *Store) content(name string) string { return filepath.Join(s.dir, "content", name) }

// keep unpacks a file into the shared folder, unless its content is there, and marks it used.
func (s *Store) keep(ctx context.Context, source Source, file, sum, work string) (string, error) {
	fail := func(err error) (string, error) {
		return "", &Error{Phase: Unpack, URL: source.URL, Err: err}
	}
	u, err := parse(source.URL)
	if err != nil {
		return fail(err)
	}
	single := sum + "+" + baseName(u)
	if name, ok := s.have(sum, source.URL); ok {
		return name, nil
	}
	unpacked := filepath.Join(work, "package")
	if err := s.unpack(ctx, source, file, unpacked); err != nil {
		return "", err
	}
	name := sum
	if entries, err := os.ReadDir(unpacked); err == nil && len(entries) == 1 && entries[0].Name() == baseName(u) && entries[0].Type().IsRegular() {
		name = single
	}
	if err := readOnly(unpacked); err != nil {
		return fail(err)
	}
	err = os.Rename(unpacked, s.content(name))
	if err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, syscall.ENOTEMPTY) {
		return fail(err)
	}
	// There was one already: another URL gave the same content at the same moment.
	if !s.use(name) {
		return fail(errors.New("the package vanished from the cache"))
	}
	return name, nil
}

func (s *Store) origin(key string) origin {
	var o origin
	data, err := os.ReadFile(filepath.Join(s.dir, "urls", key))
	if err != nil || json.Unmarshal(data, &o) != nil || o.Content != filepath.Base(o.Content) {
		return origin{}
	}
	return o
}

// lock waits for an exclusive lock. Closing the file gives it back; so does the death of the process.
func (s *Store) lock(ctx context.Context, name string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(s.dir, "locks", name), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		if err := s.download.wait(ctx, wait); err != nil {
			_ = f.Close()
			return nil, err
		}
	}
}

// use marks a content as used by this process until Close. It tells whether it is there.
func (s *Store) use(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inUse[name] != nil {
		return true
	}
	f, err := os.OpenFile(filepath.Join(s.dir, "locks", "content-"+name), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return false
	}
	// Not shared at once means that it is being removed.
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return false
	}
	if _, err := os.Stat(s.content(name)); err != nil {
		_ = f.Close()
		return false
	}
	now := time.Now()
	_ = os.Chtimes(f.Name(), now, now)
	s.inUse[name] = f
	return true
}

// prune removes what no process uses and none has used since before.
func (s *Store) prune(before time.Time) {
	contents, _ := os.ReadDir(filepath.Join(s.dir, "content"))
	for _, content := range contents {
		path := filepath.Join(s.dir, "locks", "content-"+content.Name())
		info, err := os.Stat(path)
		if err != nil || info.ModTime().After(before) {
			continue
		}
		lock, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			s.log.Info("removing an unused package from the cache", "content", content.Name())
			s.remove(s.content(content.Name()))
		}
		_ = lock.Close()
	}
	leftovers, _ := os.ReadDir(filepath.Join(s.dir, "tmp"))
	for _, leftover := range leftovers {
		s.removeLeftover(filepath.Join(s.dir, "tmp", leftover.Name()))
	}
}

// removeLeftover removes what an executor had under way when it was killed: nobody holds its
// lock any more. A folder of the last minute may be one that isn't locked yet.
func (s *Store) removeLeftover(path string) {
	info, err := os.Lstat(path)
	if err != nil || time.Since(info.ModTime()) < time.Minute {
		return
	}
	folder, err := os.Open(path)
	if err != nil {
		return
	}
	defer func() { _ = folder.Close() }()
	if syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
		s.remove(path)
	}
}

func (s *Store) remove(dir string) {
	if err := RemoveTree(dir); err != nil {
		s.log.Warn("can't remove a folder", "folder", dir, "error", err)
	}
}

// readOnly takes the write bits from all files below dir. Folders keep theirs, so that the cache can be removed with rm.
func readOnly(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.Chmod(path, info.Mode().Perm()&^0o222)
	})
}

func keyOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
