// Package httpcall sends the request of an HTTP job, which is one run of the job, and limits its time and its
// answer.
package httpcall

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf16"

	"github.com/elasticjob-go/elasticjob/executor/output"
	"github.com/elasticjob-go/elasticjob/internal/netproblem"
	"github.com/elasticjob-go/elasticjob/internal/textfile"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

const (
	// maxOutput is how many bytes of an answer are kept as the run's output. maxCause is how many bytes of an answer
	// outside of 2xx are in the cause of the failure.
	maxOutput = 64 << 10
	maxCause  = 1 << 10
	// maxRedirects is the maximum number of redirects.
	maxRedirects = 10
)

// Do executes a run of an HTTP job. It sends the request and reads the answer to its end. That is the end of the run,
// so a server may work while it answers. Do writes the answer's status line and the beginning of its body to output.
// It ignores failed writes, because the request was made in any case.
//
// A nil error means that the run succeeded: the status is 200 to 299 and the answer is complete. Any other error is
// the cause in one sentence, without the parts of the URL that may be secret. When ctx ends, Do cancels the request
// and returns ctx's cause.
//
// The header shardingContext has the sharding context, as in the original. Characters outside of ASCII are written as
// \uXXXX, because they are not safe in a header. A proxy is used only if the job says so, because the executor's
// environment belongs to the agent's operator.
//
// If a connection is refused, or the host's name can't be looked up at the moment, Do tries again until the timeout of
// the connection: in a pod that has just started, network and sidecars may not be ready yet, and nothing was sent.
//
// Redirects are followed only for GET and HEAD, whose repetition does no harm, and only to the same host and port, or
// from http to https on the same host. No other server may get the shard and the password. Any other redirect counts
// as an answer outside of 2xx.
func Do(ctx context.Context, r wire.HTTP, shard string, output io.Writer) (status int, err error) {
	request, err := newRequest(ctx, r, shard)
	if err != nil {
		return 0, err
	}
	limits := &requestLimits{connect: time.Duration(r.ConnectTimeoutMillis) * time.Millisecond,
		read: time.Duration(r.ReadTimeoutMillis) * time.Millisecond}
	transport := limits.transport()
	switch proxy, err := url.Parse(r.Proxy); {
	case r.Proxy == wire.ProxyEnvironment:
		transport.Proxy = http.ProxyFromEnvironment
	case err != nil:
		return 0, errors.New("http.proxy is not a URL")
	case r.Proxy != "":
		transport.Proxy = http.ProxyURL(proxy)
	}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, CheckRedirect: checkRedirect}
	answer, err := client.Do(request)
	if err != nil {
		return 0, limits.explain(ctx, request.URL, err, "no answer")
	}
	defer answer.Body.Close()
	_, _ = fmt.Fprintf(output, "%s %s\n", answer.Proto, answer.Status)
	begin, err := keepBeginning(answer.Body, output)
	switch {
	case answer.StatusCode/100 != 2:
		return answer.StatusCode, refusal(answer, begin)
	case err != nil:
		return answer.StatusCode, limits.explain(ctx, request.URL, err,
			"status "+answer.Status+", and the answer broke off")
	}
	return answer.StatusCode, nil
}

func newRequest(ctx context.Context, r wire.HTTP, shard string) (*http.Request, error) {
	var body io.Reader
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		body = strings.NewReader(r.Data)
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, r.URL, body)
	if err != nil || request.URL.Host == "" || request.URL.Scheme != "http" && request.URL.Scheme != "https" {
		// The library's error contains the URL with its password.
		return nil, fmt.Errorf("http.method %q and http.url make no request: a method such as GET and a URL such as http://host:port/path are needed", r.Method)
	}
	if body != nil && r.Data != "" {
		contentType := r.ContentType
		if contentType == "" {
			contentType = "application/x-www-form-urlencoded" // the default of the original's HTTP client
		}
		request.Header.Set("Content-Type", contentType)
	}
	request.Header.Set("User-Agent", "elasticjob")
	for name, header := range r.Headers {
		if request.Header.Set(name, header.Value); http.CanonicalHeaderKey(name) == "Host" {
			request.Host = header.Value
		}
	}
	request.Header["shardingContext"] = []string{asciiJSON(shard)} // the original's name; Set would change its case
	return request, nil
}

// asciiJSON escapes a JSON text, so that it contains only ASCII and no DEL.
func asciiJSON(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r < 0x7f:
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// checkRedirect refuses the redirects that Do does not follow.
func checkRedirect(next *http.Request, before []*http.Request) error {
	first := before[0]
	if first.Method != http.MethodGet && first.Method != http.MethodHead || len(before) > maxRedirects {
		return http.ErrUseLastResponse
	}
	from, to := before[len(before)-1].URL, next.URL
	sameServer := to.Scheme == from.Scheme && strings.EqualFold(to.Host, from.Host)
	secured := to.Scheme == "https" && from.Scheme == "http" && strings.EqualFold(to.Hostname(), from.Hostname())
	if !sameServer && !secured {
		return http.ErrUseLastResponse
	}
	return nil
}

// keepBeginning reads a body to its end. It writes the beginning to output, and returns the shorter beginning that a
// cause may contain.
func keepBeginning(body io.Reader, output io.Writer) (begin []byte, err error) {
	left, buffer := maxOutput, make([]byte, 32<<10)
	for {
		n, err := body.Read(buffer)
		if len(begin) < maxCause {
			begin = append(begin, buffer[:min(n, maxCause-len(begin))]...)
		}
		if kept := min(n, left); kept > 0 {
			left -= kept
			if _, err := output.Write(buffer[:kept]); err != nil {
				left = 0
			}
		}
		if err == io.EOF {
			return begin, nil
		}
		if err != nil {
			return begin, err
		}
	}
}

// refusal returns the cause of a run whose answer is not in 2xx.
func refusal(answer *http.Response, begin []byte) error {
	text := fmt.Sprintf("%s answered %s", answer.Request.URL.Host, output.Readable(answer.Status, maxCause))
	if to, err := answer.Location(); err == nil && answer.StatusCode/100 == 3 {
		text += fmt.Sprintf(", a redirect to %s, which is not followed: those of GET and HEAD are, up to %d, if they lead to the same host and port", to.Host, maxRedirects)
	}
	if body := output.Readable(textfile.Show(begin, ""), maxCause); body != "" {
		text += ":\n" + body
	}
	return errors.New(text)
}

// requestLimits are the timeouts of a request.
type requestLimits struct {
	connect, read time.Duration
	// timedOut is set when a read or a write has timed out. The library may report only a later error.
	timedOut atomic.Bool
}

// errConnect is an error of the attempt to connect.
type errConnect struct{ error }

func (e errConnect) Unwrap() error { return e.error }

func (l *requestLimits) transport() *http.Transport {
	var http1 http.Protocols
	http1.SetHTTP1(true)
	dial := func(dialer interface {
		DialContext(ctx context.Context, network, address string) (net.Conn, error)
	}) func(context.Context, string, string) (net.Conn, error) {
		return func(ctx context.Context, network, address string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, l.connect)
			defer cancel()
			var transient error // of the last attempt
			for pause := firstPause; ; pause = min(2*pause, maxPause) {
				conn, err := dialer.DialContext(ctx, network, address)
				switch {
				case err == nil:
					return &timeoutConn{Conn: conn, limits: l}, nil
				case transient != nil && ctx.Err() != nil:
					// The timeout ended this attempt, but it is not the reason why there is no connection.
					return nil, errConnect{transient}
				case !isTransient(err):
					return nil, errConnect{err}
				}
				transient = err
				select {
				case <-ctx.Done():
					return nil, errConnect{transient}
				case <-time.After(pause):
				}
			}
		}
	}
	return &http.Transport{
		DialContext: dial(&net.Dialer{}), DialTLSContext: dial(&tls.Dialer{}), Protocols: &http1,
		DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: 64 << 10,
		TLSHandshakeTimeout: l.connect, // through a proxy; otherwise the dialer limits it
	}
}

// The pauses between attempts to connect.
const (
	firstPause = 100 * time.Millisecond
	maxPause   = time.Second
)

// isTransient reports whether an attempt to connect failed before anything was sent, for a reason that may soon be
// gone.
func isTransient(err error) bool {
	var lookup *net.DNSError
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENETUNREACH) ||
		errors.Is(err, syscall.EHOSTUNREACH) || errors.As(err, &lookup) && lookup.IsTemporary && !lookup.IsTimeout
}

// timeoutConn limits the wait for each read and each write. A write also extends the deadline of reads, because a
// server answers only after it has received the request.
type timeoutConn struct {
	net.Conn
	limits *requestLimits
}

func (c *timeoutConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.limits.read)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	return n, c.limits.recordTimeout(err)
}

func (c *timeoutConn) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.limits.read)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	return n, c.limits.recordTimeout(err)
}

func (l *requestLimits) recordTimeout(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		l.timedOut.Store(true)
	}
	return err
}

// explain says why a request failed; users see this error. If ctx has ended, explain returns ctx's cause. event says
// what has failed.
func (l *requestLimits) explain(ctx context.Context, address *url.URL, err error, event string) error {
	if why := context.Cause(ctx); why != nil {
		return why
	}
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err // without the URL
	}
	var connect errConnect
	switch isConnect := errors.As(err, &connect); {
	case isConnect && isTransient(err):
		return fmt.Errorf("no connection to %s, tried for %s (http.connect.timeout.milliseconds): %w", address.Host,
			l.connect, connect.error)
	case isConnect && errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no connection to %s within %s (http.connect.timeout.milliseconds)", address.Host, l.connect)
	case isConnect:
		return fmt.Errorf("no connection to %s: %w%s", address.Host, connect.error, netproblem.Advice(err))
	case l.timedOut.Load():
		return fmt.Errorf("%s: %s: nothing came within %s (http.read.timeout.milliseconds)", address.Host, event,
			l.read)
	}
	return fmt.Errorf("%s: %s: %s%s", address.Host, event, output.Readable(err.Error(), maxCause),
		netproblem.Advice(err))
}
