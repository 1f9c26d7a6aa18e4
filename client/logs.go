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
	// Offset skips that many bytes. Tail begins that many bytes before the end instead; it takes precedence.
	Offset, Tail int64
	// Follow continues until the task has ended.
	Follow bool
	// Dropped, if not nil, is called by CopyLog when bytes were dropped before they could be read, because the output is
	// large; with their number.
	Dropped func(bytes int64)
}

// Log is an open stream of output.
type Log struct {
	io.ReadCloser
	// Offset is where in the file the stream begins; Size is the size of the file at that time.
	Offset, Size int64
}

// OpenLog opens a task's output on one connection. The caller must close it. If reading ends with an error other than
// io.EOF, the connection broke before the end of the output.
func (c *Client) OpenLog(ctx context.Context, o Output) (log *Log, err error) {
	r := o.request()
	err = c.retry(ctx, r, func() error { log, err = c.openLog(ctx, r); return err })
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

// openLog is OpenLog without retries.
func (c *Client) openLog(ctx context.Context, r request) (*Log, error) {
	resp, err := c.begin(ctx, r)
	if err != nil {
		return nil, err
	}
	return &Log{ReadCloser: resp.Body, Offset: number(resp.Header, "Elasticjob-Log-Offset"),
		Size: number(resp.Header, "Elasticjob-Log-Size")}, nil
}

// begin makes a request whose answer may last forever but must begin within requestTimeout.
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

// cancelling is a body that cancels its request when it is closed.
type cancelling struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *cancelling) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// ReadLog reads the present part of a task's output. offset is where in the file it begins.
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

func number(h http.Header, name string) int64 {
	n, err := strconv.ParseInt(h.Get(name), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// CopyLog writes a task's output to w. With Follow it continues after a broken connection where it stopped, and at the
// beginning of a file that the job has emptied. It waits up to two minutes for a server that does not answer, if the
// server has answered this client before.
func (c *Client) CopyLog(ctx context.Context, w io.Writer, o Output) error {
	heard := time.Now()
	for {
		opened, err := c.copyOnce(ctx, w, &o)
		if opened { // a stream may have been silent for long
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
		case !c.shouldWait(err, heard):
			return err
		}
		if err := sleep(ctx, reconnectPause); err != nil {
			return err
		}
	}
}

// copyOnce copies from one connection and sets o to continue after it. opened says whether there was a connection.
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
			return true, nil
		}
		return true, c.unreachable(fmt.Errorf("output of %s was emptied", o.Task))
	case log.Offset > o.Offset && o.Dropped != nil:
		o.Dropped(log.Offset - o.Offset)
	}
	n, err := io.Copy(markErrors{w}, log)
	o.Offset, o.Tail = log.Offset+n, 0
	var failed *writeError
	if err != nil && !errors.As(err, &failed) {
		err = c.unreachable(err)
	}
	return true, err
}

// markErrors marks the errors of a writer, to distinguish them from those of the reader.
type markErrors struct{ w io.Writer }

type writeError struct{ err error }

func (e *writeError) Error() string { return e.err.Error() }

func (k markErrors) Write(p []byte) (int, error) {
	n, err := k.w.Write(p)
	if err != nil {
		err = &writeError{err}
	}
	return n, err
}
