package fetcher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// cache keeps fetched programs by URI, as long as the agent runs. One that is being fetched is waited for, so that a hundred
// executors that start together make one download.
type cache struct {
	dir      string
	download func(ctx context.Context, uri string, to io.Writer) error

	mu      sync.Mutex
	entries map[string]*entry
}

// entry is a program of the cache, complete once done is closed.
type entry struct {
	done chan struct{}
	name string
	info os.FileInfo // of the file, as it was complete
	err  error
}

func newCache(dir string, download func(context.Context, string, io.Writer) error) (*cache, error) {
	if err := os.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("empty the fetcher's cache: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the fetcher's cache: %w", err)
	}
	return &cache{dir: dir, download: download, entries: map[string]*entry{}}, nil
}

// get opens the program of uri, and fetches it first when it is not there. A failed fetch fails for all who waited for it, and is
// tried again by the next.
func (c *cache) get(ctx context.Context, uri string) (*os.File, error) {
	for {
		c.mu.Lock()
		e := c.entries[uri]
		if e == nil {
			e = &entry{done: make(chan struct{})}
			c.entries[uri] = e
			c.mu.Unlock()
			return c.fill(ctx, uri, e)
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
			c.forget(uri, e)
		} else if !errors.Is(e.err, context.Canceled) {
			return nil, e.err
		}
	}
}

// fill fetches an entry for all who wait for it.
func (c *cache) fill(ctx context.Context, uri string, e *entry) (file *os.File, err error) {
	defer close(e.done)
	if file, err = c.fetch(ctx, uri); err == nil {
		e.name = file.Name()
		if e.info, err = file.Stat(); err != nil {
			err = errors.Join(err, file.Close())
		}
	}
	if e.err = err; err != nil {
		c.forget(uri, e)
		return nil, err
	}
	return file, nil
}

// forget makes whoever wants the program next fetch it again. Sandboxes keep their links to the file.
func (c *cache) forget(uri string, e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[uri] == e {
		delete(c.entries, uri)
		_ = os.Remove(e.name) // a failed fetch has left none
	}
}

// once fetches a program that is not kept: its file has no name of its own.
func (c *cache) once(ctx context.Context, uri string) (*os.File, error) {
	file, err := c.fetch(ctx, uri)
	if err != nil {
		return nil, err
	}
	return file, os.Remove(file.Name())
}

// fetch downloads a program, and opens it for reading only: one that is open for writing can't be executed.
func (c *cache) fetch(ctx context.Context, uri string) (*os.File, error) {
	file, err := os.CreateTemp(c.dir, "program-")
	if err != nil {
		return nil, err
	}
	err = c.download(ctx, uri, file)
	if err == nil {
		// Sandboxes have links to it, which are to be executed and never written to.
		err = file.Chmod(0o555)
	}
	if err = errors.Join(err, file.Close()); err == nil {
		var program *os.File
		if program, err = os.Open(file.Name()); err == nil {
			return program, nil
		}
	}
	return nil, errors.Join(err, os.Remove(file.Name()))
}

// open opens a complete entry, unless somebody has changed its file: executors run as the agent's user.
func (e *entry) open() (*os.File, error) {
	file, err := os.Open(e.name)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && (!os.SameFile(info, e.info) || info.Size() != e.info.Size() || !info.ModTime().Equal(e.info.ModTime())) {
		err = errors.New("a file in the fetcher's cache was changed")
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
