package fetcher

import (
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

// cache keeps fetched files by URI, as long as the agent runs. One that is being fetched is waited for, so that a hundred executors
// that start together make one download.
type cache struct {
	dir string

	mu      sync.Mutex
	entries map[string]*entry
}

// entry is a file of the cache. What is below done is set when that is closed.
type entry struct {
	uri, file string
	done      chan struct{}
	info      os.FileInfo // of the file, as it was complete
	err       error
}

func newCache(dir string) (*cache, error) {
	if err := os.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("empty the fetcher's cache: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the fetcher's cache: %w", err)
	}
	return &cache{dir: dir, entries: map[string]*entry{}}, nil
}

// get opens the cached content of uri, and fetches it first when there is none. A failed fetch fails for all who waited for it,
// and is tried again by the next.
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
		c.mu.Unlock()
		select {
		case <-e.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		// Who fetched may have been cancelled; that is no reason for the others.
		if e.err == nil {
			if file, err := e.open(); err == nil {
				return file, nil
			}
			c.forget(e)
		} else if !errors.Is(e.err, context.Canceled) {
			return nil, e.err
		}
	}
}

// forget has an entry fetched again by whoever wants it next.
func (c *cache) forget(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[e.uri] == e {
		delete(c.entries, e.uri)
	}
}

// fill fetches e beside its place and moves it there when it is whole.
func (c *cache) fill(ctx context.Context, e *entry, source func(context.Context, io.Writer) error) (*os.File, error) {
	var file *os.File
	file, e.info, e.err = c.fetch(ctx, e, source)
	if e.err != nil {
		c.forget(e)
	}
	close(e.done)
	return file, e.err
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

// link makes one more name for an open file, so that it is not copied. It fails where the file has no name any more, since it was
// fetched again, or the name would be on another file system.
func link(file *os.File, name string) error {
	return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", file.Fd()), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
}
