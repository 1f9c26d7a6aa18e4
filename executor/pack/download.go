package pack

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// version has the headers by which a server identifies the version of a content. A later request uses them to ask
// whether the version has changed.
type version struct {
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"lastModified,omitempty"`
}

func versionOf(h http.Header) version {
	return version{ETag: h.Get("ETag"), LastModified: h.Get("Last-Modified")}
}

func (v version) isKnown() bool { return v.ETag != "" || v.LastModified != "" }

// validator returns the value of If-Range, which accompanies a Range header so that two versions are not mixed. A weak
// ETag can't be used. It returns "" if the version has no usable value.
func (v version) validator() string {
	if v.ETag != "" && !strings.HasPrefix(v.ETag, "W/") {
		return v.ETag
	}
	return v.LastModified
}

// errUnchanged means that the server has no newer version than the known one.
var errUnchanged = errors.New("unchanged")

// permanent is an error that another attempt would not change.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// downloader fetches files, and logs their progress about every five seconds.
type downloader struct {
	client *http.Client
	open   func(path string) (*os.File, error) // opens files of this machine
	limits Limits
	log    *slog.Logger
}

func newDownloader(limits Limits, open func(path string) (*os.File, error), log *slog.Logger) *downloader {
	return &downloader{limits: limits, open: open, log: log,
		client: &http.Client{CheckRedirect: checkRedirect, Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			TLSHandshakeTimeout: 10 * time.Second,
			DisableCompression:  true,
			IdleConnTimeout:     10 * time.Second,
		}}}
}

// parse parses a URL and checks that it is supported. The error says what is allowed.
func parse(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("it is not a URL")
	}
	switch u.Scheme {
	case "http", "https":
		if u.Host == "" {
			return nil, errors.New("the URL must name a host")
		}
	case "file":
		if u.Host != "" && u.Host != "localhost" {
			return nil, errors.New("a file URL must name a file of this machine: file:///path")
		}
	case "":
		return nil, errors.New("the URL must begin with http://, https:// or file://")
	default:
		return nil, fmt.Errorf("scheme %q isn't supported; http, https and file are", u.Scheme)
	}
	return u, nil
}

// FileName returns the name that a package has as a single file, from the package's URL. It returns "" if the URL is
// not valid.
func FileName(address string) string {
	u, err := parse(address)
	if err != nil {
		return ""
	}
	return baseName(u)
}

// baseName returns the name that a package has as a single file: the last part of the URL's path or, if that is not a
// valid file name, "package".
func baseName(u *url.URL) string {
	name := path.Base(u.Path)
	if name == "" || name == "." || name == "/" || name == ".." || strings.ContainsRune(name, 0) || len(name) > 255 {
		return "package"
	}
	return name
}

// get downloads u into a file, and returns the content's sha256 in hexadecimal and its version. The error is
// errUnchanged if the server has no newer version than cached.
func (d *downloader) get(ctx context.Context, u *url.URL, file *os.File, cached version) (string, version, error) {
	t := &transfer{downloader: d, url: u, file: file, sum: sha256.New(), cached: cached,
		nextProgress: time.Now().Add(progressInterval)}
	ctx, cancel := context.WithTimeoutCause(ctx, d.limits.Transfer,
		fmt.Errorf("not fetched within %v", d.limits.Transfer))
	defer cancel()
	if u.Scheme == "file" {
		err := t.copyFile(ctx)
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return hex.EncodeToString(t.sum.Sum(nil)), t.version, err
	}
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	t.firstByteTimer = time.AfterFunc(d.limits.FirstByte, func() {
		giveUp(unanswered{fmt.Errorf("the server sent no data within %v", d.limits.FirstByte), t.reached.Load()})
	})
	defer t.firstByteTimer.Stop()
	var err error
	for try := range d.limits.Tries {
		if try > 0 {
			if waitErr := wait(ctx, 250*time.Millisecond<<(try-1)); waitErr != nil {
				var noAnswer unanswered
				if errors.As(waitErr, &noAnswer) {
					waitErr = unanswered{err, t.reached.Load()} // err says why there was no first byte
				}
				return "", version{}, waitErr
			}
		}
		err = t.try(ctx)
		if cause := context.Cause(ctx); cause != nil {
			return "", version{}, cause
		}
		var final permanent
		if err == nil || errors.Is(err, errUnchanged) || errors.As(err, &final) {
			break
		}
		if t.received > 0 {
			err = fmt.Errorf("broken after %d bytes: %w", t.received, err)
		}
	}
	return hex.EncodeToString(t.sum.Sum(nil)), t.version, err
}

// wait waits for d. If ctx ends before, it returns ctx's cause.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

const progressInterval = 5 * time.Second

// transfer is one download with its resumptions.
type transfer struct {
	*downloader
	url            *url.URL
	file           *os.File
	sum            hash.Hash
	cached         version // the version that the store has
	version        version // the version that the server sends
	received       int64
	total          int64 // negative if unknown
	nextProgress   time.Time
	firstByteTimer *time.Timer // runs until the first byte; nil for a file of this machine
	// reached is set once the latest attempt has a connection, including TLS.
	reached atomic.Bool
}

var errStalled = errors.New("the transfer stalled")

// try makes one attempt. It resumes an earlier attempt if the server's version allows that.
func (t *transfer) try(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t.reached.Store(false)
	trace := httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { t.reached.Store(true) }}
	traced := httptrace.WithClientTrace(ctx, &trace)
	request, err := http.NewRequestWithContext(traced, http.MethodGet, t.url.String(), nil)
	if err != nil {
		return permanent{err}
	}
	request.Header.Set("User-Agent", "elasticjob-executor")
	request.Header.Set("Accept-Encoding", "identity") // the bytes must be the published ones
	resume := t.received > 0 && t.version.validator() != ""
	switch {
	case resume:
		request.Header.Set("Range", "bytes="+strconv.FormatInt(t.received, 10)+"-")
		request.Header.Set("If-Range", t.version.validator())
	case t.cached.isKnown():
		if t.cached.ETag != "" {
			request.Header.Set("If-None-Match", t.cached.ETag)
		}
		if t.cached.LastModified != "" {
			request.Header.Set("If-Modified-Since", t.cached.LastModified)
		}
	}
	stall := time.AfterFunc(t.limits.Stall, func() { cancel(errStalled) })
	defer stall.Stop()
	response, err := t.client.Do(request)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return requestError(err, t.reached.Load())
	}
	defer func() { _ = response.Body.Close() }()
	switch {
	case response.StatusCode == http.StatusNotModified && !resume && t.cached.isKnown():
		return errUnchanged
	case response.StatusCode == http.StatusPartialContent && resume:
		if err := t.checkRange(response.Header); err != nil {
			t.version = version{} // the next attempt starts from the beginning
			return err
		}
	case response.StatusCode == http.StatusOK:
		if err := t.restart(response); err != nil {
			return err
		}
	case response.StatusCode >= 500:
		return unanswered{fmt.Errorf("the server answers %s", statusText(response.StatusCode)), true}
	case response.StatusCode == http.StatusTooManyRequests, response.StatusCode == http.StatusRequestTimeout:
		return fmt.Errorf("the server answers %s", statusText(response.StatusCode))
	case response.StatusCode == http.StatusRequestedRangeNotSatisfiable && resume:
		t.version = version{} // the next attempt starts from the beginning
		return fmt.Errorf("the server answers %s", statusText(response.StatusCode))
	default:
		return permanent{fmt.Errorf("the server answers %s", statusText(response.StatusCode))}
	}
	err = t.copy(response.Body, func() { stall.Reset(t.limits.Stall) })
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// statusText returns a status with HTTP's own text for it. A user who only names a URL must not see the server's text.
func statusText(code int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", code, http.StatusText(code)))
}

// plainError removes the URL that net/http puts before its errors, because [Error] has it already. It also removes
// data that a server has sent instead of an HTTP answer: for a check, packages are fetched in the network of the
// scheduler's servers for any user who names a URL, and such a user must not read that data.
func plainError(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var (
		network     net.Error
		refused     permanent
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
		alert       tls.AlertError
	)
	switch {
	case strings.HasPrefix(err.Error(), "failed to parse Location header"):
		return errors.New("the server redirects to an invalid URL") // the text may contain a password
	case errors.As(err, &network), errors.As(err, &refused), errors.As(err, &certificate), errors.As(err, &record),
		errors.As(err, &alert), errors.Is(err, http.ErrSchemeMismatch), isBroken(err):
		return err
	}
	return errors.New("the server's answer is not HTTP")
}

// isBroken reports whether an error says that a connection ended too early.
func isBroken(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE)
}

// checkRange returns an error if a partial answer has another range than the requested one, or belongs to another
// version than the bytes received before. A server that supports If-Range sends no such answer, but not every server
// does.
func (t *transfer) checkRange(header http.Header) error {
	part, total, _ := strings.Cut(header.Get("Content-Range"), "/")
	if !strings.HasPrefix(part, fmt.Sprintf("bytes %d-", t.received)) {
		return fmt.Errorf("the server sent another range than the requested one from byte %d", t.received)
	}
	size, err := strconv.ParseInt(total, 10, 64)
	differ := func(now, before string) bool { return now != "" && before != "" && now != before }
	got := versionOf(header)
	hasOtherSize := err == nil && t.total >= 0 && size != t.total
	if hasOtherSize || differ(got.ETag, t.version.ETag) || differ(got.LastModified, t.version.LastModified) {
		return errors.New("the package was changed while it was fetched")
	}
	return nil
}

// maxRedirects is the maximum number of redirects of a request.
const maxRedirects = 10

// checkRedirect allows redirects to http and https only. Its errors are permanent, because another attempt would
// get the same redirect.
func checkRedirect(request *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return permanent{fmt.Errorf("more than %d redirections", maxRedirects)}
	}
	if request.URL.Scheme != "http" && request.URL.Scheme != "https" {
		return permanent{fmt.Errorf("the server redirects to a URL of scheme %.20q; only http and https are followed",
			request.URL.Scheme)}
	}
	return nil
}

// restart prepares the transfer for an answer that begins at the first byte.
func (t *transfer) restart(response *http.Response) error {
	if response.ContentLength > t.limits.Download {
		return permanent{fmt.Errorf("the package has %d bytes; at most %d are allowed", response.ContentLength,
			t.limits.Download)}
	}
	_, err := t.file.Seek(0, io.SeekStart)
	if err = errors.Join(err, t.file.Truncate(0)); err != nil {
		return permanent{err}
	}
	t.sum.Reset()
	t.received, t.total = 0, response.ContentLength
	t.version = versionOf(response.Header)
	return nil
}

// copy receives the rest of an answer. It calls received for each part that it receives.
func (t *transfer) copy(body io.Reader, received func()) error {
	buffer := make([]byte, 64<<10)
	pace := pace{limits: t.limits, since: time.Now()}
	for {
		n, err := body.Read(buffer)
		if n > 0 {
			if t.firstByteTimer != nil {
				t.firstByteTimer.Stop()
			}
			if err := pace.add(n); err != nil {
				return permanent{err}
			}
			received()
			t.received += int64(n)
			if t.received > t.limits.Download {
				return permanent{fmt.Errorf("the package has more than %d bytes, which is the limit",
					t.limits.Download)}
			}
			if _, err := t.file.Write(buffer[:n]); err != nil {
				return permanent{err}
			}
			_, _ = t.sum.Write(buffer[:n]) // a hash returns no error
			if now := time.Now(); now.After(t.nextProgress) {
				t.log.Info("package fetch in progress", "url", redact(t.url.String()), "bytes", t.received, "of",
					t.total)
				t.nextProgress = now.Add(progressInterval)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
