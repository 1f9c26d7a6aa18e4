package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Output says which part of a task's output is asked for.
type Output struct {
	Task string
	// Stream is stdout or stderr, or stdout.1 or stderr.1 for what was rotated out of them. Empty is stdout.
	Stream string
	// Offset skips so many bytes. Tail, instead, begins so many bytes before the end.
	Offset, Tail int64
	// Follow goes on until the task has ended.
	Follow bool
}

// Log is output that is being read.
type Log struct {
	io.ReadCloser
	// Offset is where in the file it begins, Size how large the file was then.
	Offset, Size int64
}

// OpenLog reads a task's output from one connection. The caller closes it. An end that is no io.EOF says that the
// connection broke before all was there.
func (c *Client) OpenLog(ctx context.Context, o Output) (*Log, error) {
	query := url.Values{}
	if o.Stream != "" {
		query.Set("stream", o.Stream)
	}
	if o.Tail > 0 {
		query.Set("tail", strconv.FormatInt(o.Tail, 10))
	} else if o.Offset > 0 {
		query.Set("offset", strconv.FormatInt(o.Offset, 10))
	}
	if o.Follow {
		query.Set("follow", "true")
	}
	resp, err := c.open(ctx, get("api", "task", o.Task, "logs").with(query))
	if err != nil {
		return nil, err
	}
	return &Log{ReadCloser: resp.Body, Offset: number(resp.Header, "Elasticjob-Log-Offset"), Size: number(resp.Header, "Elasticjob-Log-Size")}, nil
}

func number(h http.Header, name string) int64 {
	n, err := strconv.ParseInt(h.Get(name), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// CopyLog writes a task's output to w. What is followed goes on where it was when a connection breaks, and from the begin
// of the new file after a rotation. A server that gives no answer for up to two minutes is waited for.
func (c *Client) CopyLog(ctx context.Context, w io.Writer, o Output) error {
	heard := time.Now()
	for {
		n, err := c.copyOnce(ctx, w, &o)
		if n > 0 {
			heard = time.Now()
		}
		var failed *writeError
		switch {
		case err == nil, ctx.Err() != nil:
			return errors.Join(err, ctx.Err())
		case errors.As(err, &failed):
			return failed.err
		case !o.Follow || !isAbsent(err) || time.Since(heard) > absence:
			return err
		}
		if err := sleep(ctx, reconnect); err != nil {
			return err
		}
	}
}

// copyOnce copies from one connection, and has o go on behind what was copied.
func (c *Client) copyOnce(ctx context.Context, w io.Writer, o *Output) (int64, error) {
	log, err := c.OpenLog(ctx, *o)
	if err != nil {
		return 0, err
	}
	defer func() { _ = log.Close() }()
	if o.Tail == 0 && log.Size < o.Offset { // it was rotated: this is another file
		o.Offset = 0
		if !o.Follow {
			return 0, nil
		}
		return 0, c.unreachable(fmt.Errorf("output of %s was rotated", o.Task))
	}
	n, err := io.Copy(keepError{w}, log)
	o.Offset, o.Tail = log.Offset+n, 0
	var failed *writeError
	if err != nil && !errors.As(err, &failed) {
		err = c.unreachable(err)
	}
	return n, err
}

// keepError tells errors of a writer from those of what is read.
type keepError struct{ w io.Writer }

type writeError struct{ err error }

func (e *writeError) Error() string { return e.err.Error() }

func (k keepError) Write(p []byte) (int, error) {
	n, err := k.w.Write(p)
	if err != nil {
		err = &writeError{err}
	}
	return n, err
}
