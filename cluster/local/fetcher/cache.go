package fetcher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// cache keeps fetched programs by URI for as long as the agent runs. When many executors start together, they share one
// download of their program.
type cache struct {
	dir      string
	download func(ctx context.Context, uri string, to io.Writer) error

	mu      sync.Mutex
	entries map[string]*entry
}

// entry is a program in the cache. Its other fields are set once done is closed.
type entry struct {
	done    chan struct{}
	program *os.File
	err     error
}

// newCache creates an empty cache in a folder. It removes what the folder contains.
func newCache(dir string, download func(context.Context, string, io.Writer) error) (*cache, error) {
	if err := os.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("clear the fetcher's cache: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("create the fetcher's cache: %w", err)
	}
	return &cache{dir: dir, download: download, entries: map[string]*entry{}}, nil
}

// get opens the program of uri, and fetches it first if needed. If a fetch fails, it fails for all callers that waited
// for it, and the next caller tries again. If a fetch fails because its caller was cancelled, one of the waiting
// callers repeats it.
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
		if e.err == nil {
			return reopen(e.program)
		}
		if callerCancelled := errors.Is(e.err, context.Canceled); !callerCancelled {
			return nil, e.err
		}
	}
}

// fill fetches the program of an entry for all callers that wait for it. It removes the entry if that fails.
func (c *cache) fill(ctx context.Context, uri string, e *entry) (*os.File, error) {
	defer close(e.done)
	if e.program, e.err = c.fetch(ctx, uri); e.err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.entries, uri)
		return nil, e.err
	}
	return reopen(e.program)
}

// fetch downloads a program into an unlinked file and reopens it read-only, because a file that is open for writing
// cannot be executed.
func (c *cache) fetch(ctx context.Context, uri string) (program *os.File, err error) {
	file, err := os.CreateTemp(c.dir, "program-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err = errors.Join(err, file.Close()); err != nil && program != nil {
			_ = program.Close()
		}
	}()
	if err := os.Remove(file.Name()); err != nil {
		return nil, err
	}
	if err := c.download(ctx, uri, file); err != nil {
		return nil, err
	}
	if err := file.Chmod(0o555); err != nil {
		return nil, err
	}
	return reopen(file)
}

// reopen reopens a file, which may be unlinked, for reading.
func reopen(file *os.File) (*os.File, error) {
	return os.Open(fmt.Sprintf("/proc/self/fd/%d", file.Fd()))
}

// close drops all entries. An entry that is being fetched remains until the process ends.
func (c *cache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for uri, e := range c.entries {
		select {
		case <-e.done:
			delete(c.entries, uri)
			if e.program != nil {
				_ = e.program.Close()
			}
		default:
		}
	}
}
