package fetcher

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// cache keeps fetched files by URI. One that is being fetched is waited for, so
// that a hundred executors that start together make one download.
type cache struct {
	dir   string
	limit int64

	mu      sync.Mutex
	entries map[string]*entry
	recent  *list.List // of *entry that are complete, the most recently used first
	bytes   int64
}

type entry struct {
	uri, file string
	size      int64
	info      os.FileInfo   // of the file, when it was complete
	element   *list.Element // nil until complete
	done      chan struct{}
	err       error
}

func newCache(dir string, limit int64) (*cache, error) {
	if err := os.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("empty the fetcher's cache: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the fetcher's cache: %w", err)
	}
	return &cache{dir: dir, limit: limit, entries: map[string]*entry{}, recent: list.New()}, nil
}

// get opens the cached content of uri, and fetches it first when there is none.
// A failed fetch is told to all who waited for it, and is tried again by the next.
func (c *cache) get(ctx context.Context, uri string, source func(context.Context, io.Writer) error) (*os.File, error) {
	for {
		c.mu.Lock()
		e := c.entries[uri]
		if e == nil {
			sum := sha256.Sum256([]byte(uri))
			e = &entry{uri: uri, file: filepath.Join(c.dir, hex.EncodeToString(sum[:])), done: make(chan struct{})}
			c.entries[uri] = e
			c.mu.Unlock()
			return c.fill(ctx, e, source)
		}
		if e.element != nil {
			c.recent.MoveToFront(e.element)
			// Opened under the lock: once open, it may be evicted and stays readable.
			file, err := e.open()
			if err != nil {
				c.remove(e)
			}
			c.mu.Unlock()
			if err == nil {
				return file, nil
			}
			continue
		}
		c.mu.Unlock()
		select {
		case <-e.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		// Who fetched may have been cancelled; that is no reason for the others.
		if e.err != nil && !errors.Is(e.err, context.Canceled) {
			return nil, e.err
		}
	}
}

// fill fetches e beside its place and moves it there when it is whole.
func (c *cache) fill(ctx context.Context, e *entry, source func(context.Context, io.Writer) error) (*os.File, error) {
	file, info, err := c.fetch(ctx, e, source)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(e.done)
	if err != nil {
		e.err = err
		delete(c.entries, e.uri)
		return nil, err
	}
	e.info, e.size, e.element = info, info.Size(), c.recent.PushFront(e)
	c.bytes += e.size
	for c.bytes > c.limit && c.recent.Len() > 0 {
		c.remove(c.recent.Back().Value.(*entry))
	}
	return file, nil
}

// fetch gives the file opened for reading only: one that is open for writing can't be executed.
func (c *cache) fetch(ctx context.Context, e *entry, source func(context.Context, io.Writer) error) (_ *os.File, _ os.FileInfo, err error) {
	file, err := os.CreateTemp(c.dir, "fetching-")
	if err != nil {
		return nil, nil, err
	}
	if err = source(ctx, file); err == nil {
		// Sandboxes may have links to it, which are to be executed and never written to.
		err = file.Chmod(0o555)
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), e.file)
	}
	if err != nil {
		return nil, nil, errors.Join(err, os.Remove(file.Name()))
	}
	if file, err = os.Open(e.file); err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

var errChanged = errors.New("a file in the fetcher's cache was changed")

// open opens a complete entry, unless somebody has changed its file: executors run as the agent's user.
func (e *entry) open() (*os.File, error) {
	file, err := os.Open(e.file)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && (!os.SameFile(info, e.info) || info.Size() != e.info.Size() || !info.ModTime().Equal(e.info.ModTime())) {
		err = errChanged
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// link makes one more name for an open file, so that it is not copied. It fails where the file has no name any more, since it
// was pushed out of the cache, or the name would be on another file system.
func link(file *os.File, name string) error {
	return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", file.Fd()), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
}

func (c *cache) remove(e *entry) {
	c.recent.Remove(e.element)
	c.bytes -= e.size
	delete(c.entries, e.uri)
	// What can't be removed is emptied with the folder at the next start.
	_ = os.Remove(e.file)
}
