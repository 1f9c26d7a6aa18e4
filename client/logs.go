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
func (c *Client) OpenLog(ctx context.Context, o Output) (log *Log, err error) {
	r := o.request()
	err = c.patiently(ctx, r, func() error { log, err = c.openLog(ctx, r); return err })
	return log, err
}

func (o Output) request() request {
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
	return get("api", "task", o.Task, "logs").with(query)
}

// openLog is OpenLog, once.
func (c *Client) openLog(ctx context.Context, r request) (*Log, error) {
	resp, err := c.begin(ctx, r)
	if err != nil {
		return nil, err
	}
	return &Log{ReadCloser: resp.Body, Offset: number(resp.Header, "Elasticjob-Log-Offset"),
		Size: number(resp.Header, "Elasticjob-Log-Size")}, nil
}

// begin makes a request whose answer may last for ever, and has to begin in time.
func (c *Client) begin(ctx context.Context, r request) (*http.Response, error) {
	limited, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(requestTimeout, cancel)
	resp, err := c.open(limited, r)
	inTime := timer.Stop()
	switch {
	case err == nil && inTime:
		resp.Body = &cancelling{resp.Body, cancel}
		return resp, nil
	case err == nil:
		_ = resp.Body.Close()
		fallthrough
	case !inTime && ctx.Err() == nil:
		err = c.unreachable(context.DeadlineExceeded)
	}
	cancel()
	return nil, err
}

// cancelling is a body whose request ends with it.
type cancelling struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *cancelling) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// ReadLog reads what there is of a task's output now, and says where in the file that begins.
func (c *Client) ReadLog(ctx context.Context, o Output) (text []byte, offset int64, err error) {
	o.Follow = false
	r := o.request()
	err = c.patiently(ctx, r, func() error {
		log, err := c.openLog(ctx, r)
		if err != nil {
			return err
		}
		defer func() { _ = log.Close() }()
		offset = log.Offset
		if text, err = io.ReadAll(log); err != nil {
			return c.unreachable(err)
		}
		return nil
	})
	return text, offset, err
}

func number(h http.Header, name string) int64 {
	n, err := strconv.ParseInt(h.Get(name), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// CopyLog writes a task's output to w. What is followed goes on where it was when a connection breaks, and from the
// begin of the new file after a rotation. A server that gives no answer for up to two minutes is waited for, if it has
// answered this client before.
func (c *Client) CopyLog(ctx context.Context, w io.Writer, o Output) error {
	heard := time.Now()
	for {
		opened, err := c.copyOnce(ctx, w, &o)
		if opened { // a stream may have been quiet for long
			heard = time.Now()
			c.presence.away.Store(false)
		}
		var failed *writeError
		switch {
		case err == nil, ctx.Err() != nil:
			return errors.Join(err, ctx.Err())
		case errors.As(err, &failed):
			return failed.err
		case !o.Follow:
			return err
		case opened && isAbsent(err): // the server was there until now
		case !c.waits(err, heard):
			return err
		}
		if err := sleep(ctx, reconnect); err != nil {
			return err
		}
	}
}

// copyOnce copies from one connection, has o go on behind what was copied, and reports whether there was a connection.
func (c *Client) copyOnce(ctx context.Context, w io.Writer, o *Output) (opened bool, err error) {
	log, err := c.OpenLog(ctx, *o)
	if err != nil {
		return false, err
	}
	defer func() { _ = log.Close() }()
	if o.Tail == 0 && log.Size < o.Offset { // it was rotated: this is another file
		o.Offset = 0
		if !o.Follow {
			return true, nil
		}
		return true, c.unreachable(fmt.Errorf("output of %s was rotated", o.Task))
	}
	n, err := io.Copy(keepError{w}, log)
	o.Offset, o.Tail = log.Offset+n, 0
	var failed *writeError
	if err != nil && !errors.As(err, &failed) {
		err = c.unreachable(err)
	}
	return true, err
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
