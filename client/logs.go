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

// Output selects a part of a task's output.
type Output struct {
	Task string
	// Stream is stdout or stderr. "" means stdout.
	Stream string
	// Offset is the number of bytes to skip. If Tail is greater than 0, the part begins Tail bytes before the end
	// instead.
	Offset, Tail int64
	// Follow continues until the task has ended.
	Follow bool
	// Dropped may be nil. CopyLog calls it with the number of bytes that the executor dropped before CopyLog could
	// read them, because the output is large.
	Dropped func(bytes int64)
}

// Log is an open stream of output.
type Log struct {
	io.ReadCloser
	// Offset is the position in the file at which the stream begins. Size is the size of the file when it was opened.
	Offset, Size int64
}

// OpenLog opens a task's output on one connection. The caller must close it. If reading ends with an error other than
// io.EOF, the connection broke before the end of the output.
func (c *Client) OpenLog(ctx context.Context, o Output) (log *Log, err error) {
	r := o.request()
	err = c.retry(ctx, r, func() error { log, err = c.openLog(ctx, r); return err })
	return log, err
}

// request returns the request for the output.
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

// openLog is OpenLog without retries.
func (c *Client) openLog(ctx context.Context, r request) (*Log, error) {
	resp, err := c.begin(ctx, r)
	if err != nil {
		return nil, err
	}
	return &Log{ReadCloser: resp.Body, Offset: headerNumber(resp.Header, "Elasticjob-Log-Offset"),
		Size: headerNumber(resp.Header, "Elasticjob-Log-Size")}, nil
}

// begin makes a request whose answer must begin within requestTimeout, but may then continue without a limit.
func (c *Client) begin(ctx context.Context, r request) (*http.Response, error) {
	cancellable, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(requestTimeout, cancel)
	resp, err := c.open(cancellable, r)
	inTime := timer.Stop()
	switch {
	case err == nil && inTime:
		resp.Body = &cancellingBody{resp.Body, cancel}
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

// cancellingBody is a body that cancels its request when it is closed.
type cancellingBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *cancellingBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// ReadLog reads the output that a task has written so far, or the part of it that o selects. offset is the position in
// the file at which the text begins.
func (c *Client) ReadLog(ctx context.Context, o Output) (text []byte, offset int64, err error) {
	o.Follow = false
	r := o.request()
	err = c.retry(ctx, r, func() error {
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

// headerNumber returns the number in a header; 0 if there is none.
func headerNumber(h http.Header, name string) int64 {
	n, err := strconv.ParseInt(h.Get(name), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// CopyLog writes a task's output to w. With Follow, it reopens a broken connection and continues where it stopped, or
// at the beginning of the file if the job has emptied the file. If the server does not answer, but has answered this
// client before, CopyLog waits up to two minutes for the server.
func (c *Client) CopyLog(ctx context.Context, w io.Writer, o Output) error {
	lastAnswer := time.Now()
	for {
		opened, err := c.copyOnce(ctx, w, &o)
		if opened { // the stream has just ended, even if its last output is old
			lastAnswer = time.Now()
			c.presence.away.Store(false)
		}
		var writeFailed *writeError
		switch {
		case err == nil, ctx.Err() != nil:
			return errors.Join(err, ctx.Err())
		case errors.As(err, &writeFailed):
			return writeFailed.err
		case !o.Follow:
			return err
		case opened && isAbsent(err): // the server answered until now, so reconnect
		case !c.shouldWait(err, lastAnswer):
			return err
		}
		if err := sleep(ctx, reconnectPause); err != nil {
			return err
		}
	}
}

// copyOnce copies the output from one connection, and sets o so that the next call continues after it. opened reports
// whether the connection was made.
func (c *Client) copyOnce(ctx context.Context, w io.Writer, o *Output) (opened bool, err error) {
	log, err := c.OpenLog(ctx, *o)
	if err != nil {
		return false, err
	}
	defer func() { _ = log.Close() }()
	switch {
	case o.Tail > 0:
	case log.Size < o.Offset:
		o.Offset = 0
		if !o.Follow {
			return true, nil // there is nothing after the offset
		}
		return true, c.unreachable(fmt.Errorf("output of %s was emptied", o.Task))
	case log.Offset > o.Offset && o.Dropped != nil:
		o.Dropped(log.Offset - o.Offset)
	}
	n, err := io.Copy(errorMarker{w}, log)
	o.Offset, o.Tail = log.Offset+n, 0
	var writeFailed *writeError
	if err != nil && !errors.As(err, &writeFailed) {
		err = c.unreachable(err)
	}
	return true, err
}

// errorMarker is a writer whose errors are a writeError, to distinguish them from the errors of the reader.
type errorMarker struct{ w io.Writer }

type writeError struct{ err error }

func (e *writeError) Error() string { return e.err.Error() }

func (m errorMarker) Write(p []byte) (int, error) {
	n, err := m.w.Write(p)
	if err != nil {
		err = &writeError{err}
	}
	return n, err
}
