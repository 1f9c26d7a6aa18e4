// Package client is a client of the scheduler's REST API. The command line uses it, and other programs may use it too.
// It imports only the standard library.
//
//	New ──▶ Client ── Apps, Job, TriggerJob, Executions, … ──▶ Answer: the server's text and its decoded value
//	               ── Events, Watch ──▶ changes, as they happen
//	               ── CopyLog ──▶ a task's output, as it grows
//
// If the server refuses a request, the error is an [*Error] with a code and fields. If the server does not answer, the
// error is an [*UnreachableError]. If a trigger gets no answer, but may have made a run, the error is an
// [*UnknownError] with the trigger's idempotency key.
//
// The client retries reads and triggers for some seconds while the server, or a proxy in front of it, is temporarily
// unavailable; the idempotency key keeps a trigger from making a second run. The client also retries every request
// that the server refuses with status 429, because the server has not carried it out.
package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// DefaultServer is the URL of a scheduler without --listen.
const DefaultServer = "http://127.0.0.1:8899"

const (
	// requestTimeout is the timeout of a request that the server answers at once.
	requestTimeout = 30 * time.Second
	// checkTimeout is the timeout of a request for which the server fetches a package first.
	checkTimeout = 3 * time.Minute
	// maxAnswer limits the size of an answer, in bytes. It exceeds every document and list.
	maxAnswer = 1 << 30
)

// Options say which server a client talks to, and as which user.
type Options struct {
	// Server is the server's URL. A host is enough, as in jobs.example.com:8899, and means http. "" means
	// DefaultServer.
	Server string
	// Token is sent with each request: an API token, or the token of a login. "" sends none.
	Token string
	// CAFile is a file with certificates of authorities, in PEM form. One of them must have signed the server's
	// certificate. "" means the authorities of the system.
	CAFile string
	// UserAgent is the value of the header User-Agent.
	UserAgent string
	// Waiting is called with the reason when Watch or CopyLog begins to wait for a server that does not answer. After
	// that, it is not called again before the server has answered. Several goroutines may call it. It may be nil.
	Waiting func(error)
}

// Client talks to one server. Its methods may be called concurrently.
type Client struct {
	base  *url.URL
	token string
	// userAgent is the value of the header User-Agent.
	userAgent string
	http      *http.Client
	// retryTimeout limits the time of a request's retries (retry.go). absenceTimeout limits the time for which Watch
	// and CopyLog wait for the server (watch.go).
	retryTimeout, absenceTimeout time.Duration
	presence                     presence
}

// New returns a client. It sends nothing yet.
func New(o Options) (*Client, error) {
	base, err := ParseServer(o.Server)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if o.CAFile != "" {
		roots, err := readRoots(o.CAFile)
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return &Client{base: base, token: o.Token, userAgent: o.UserAgent, retryTimeout: retryTimeout,
		absenceTimeout: absenceTimeout,
		presence:       presence{waiting: o.Waiting}, http: &http.Client{
			Transport: transport,
			// Following a redirect would send the token to another server.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}}, nil
}

// ParseServer parses a server's URL in the form of Options.Server.
func ParseServer(text string) (*url.URL, error) {
	if text == "" {
		text = DefaultServer
	}
	full := text
	if !strings.Contains(full, "://") {
		full = "http://" + full
	}
	base, err := url.Parse(full)
	switch {
	case err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, fmt.Errorf("server %q: must be a URL such as %s or https://jobs.example.com", text, DefaultServer)
	case base.User != nil:
		return nil, fmt.Errorf("server %q: a URL must not contain a password; log in, or use a token", base.Redacted())
	}
	base.Path, base.RawQuery, base.Fragment = strings.TrimRight(base.Path, "/"), "", ""
	return base, nil
}

// readRoots reads the authorities' certificates from a file.
func readRoots(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the authority's certificate: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("read the authority's certificate: %s holds no certificate in PEM form", file)
	}
	return roots, nil
}

// Server returns the URL of the server.
func (c *Client) Server() string { return c.base.String() }

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Answer is the server's answer to a request.
type Answer[T any] struct {
	// Raw is the text of the answer, unchanged.
	Raw json.RawMessage
	// Value is the decoded answer.
	Value T
	// Warning says what the answer lacks, such as the history while the server cannot read it; "" if it lacks nothing.
	Warning string
	// Next is the value of Runs.Before with which the next older rows are listed; "" if there may be none, because the
	// list is not full.
	Next string
}

// request is one request to be made.
type request struct {
	method string
	// path are the path segments after /, unescaped.
	path  []string
	query url.Values
	// body is sent as JSON; a json.RawMessage is sent unchanged.
	body any
	// key is sent as the header Idempotency-Key.
	key     string
	timeout time.Duration
}

// get and post return a request for the path of the segments. with and sending return it with a query or a body.
func get(path ...string) request  { return request{method: http.MethodGet, path: path} }
func post(path ...string) request { return request{method: http.MethodPost, path: path} }

func (r request) with(query url.Values) request { r.query = query; return r }

func (r request) sending(body any) request { r.body = body; return r }

// call makes a request with a JSON answer, and retries it if it may be repeated.
func call[T any](ctx context.Context, c *Client, r request) (Answer[T], error) {
	var a Answer[T]
	for _, segment := range r.path {
		if segment == "" || segment == "." || segment == ".." { // it would select another route
			return a, fmt.Errorf("%q is not a name", segment)
		}
	}
	err := c.retry(ctx, r, func() error {
		text, header, err := c.readAll(ctx, r)
		if err != nil {
			return err
		}
		a = Answer[T]{Raw: bytes.TrimSpace(text), Warning: warningOf(header), Next: nextOf(header)}
		if err := json.Unmarshal(text, &a.Value); err != nil {
			return fmt.Errorf("%s does not answer like a scheduler (%w): check its URL and its version",
				c.urlOf(r), err)
		}
		return nil
	})
	return a, err
}

// readAll makes a request once and reads the whole answer.
func (c *Client) readAll(ctx context.Context, r request) ([]byte, http.Header, error) {
	timeout := r.timeout
	if timeout == 0 {
		timeout = requestTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	resp, err := c.open(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, nil, c.unreachable(err)
	}
	return text, resp.Header, nil
}

// open makes a request once and returns the response with its body unread. The caller must close the body. If the
// status is not 200, open returns an error.
func (c *Client) open(ctx context.Context, r request) (*http.Response, error) {
	var body io.Reader
	if r.body != nil {
		text, err := json.Marshal(r.body)
		if raw, ok := r.body.(json.RawMessage); ok {
			text, err = raw, nil // unchanged: if it is not valid JSON, the server's error says where
		}
		if err != nil {
			return nil, fmt.Errorf("write the request's body: %w", err)
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, c.urlOf(r), body)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	for name, value := range map[string]string{"accessToken": c.token, "User-Agent": c.userAgent,
		"Idempotency-Key": r.key} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(err)
	}
	if resp.StatusCode == http.StatusOK {
		c.presence.answered.Store(true)
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	return nil, c.readError(resp)
}

// urlOf returns the URL of a request.
func (c *Client) urlOf(r request) string {
	target := *c.base
	escaped := make([]string, len(r.path))
	for i, segment := range r.path {
		escaped[i] = url.PathEscape(segment)
	}
	plain, raw := "/"+strings.Join(r.path, "/"), "/"+strings.Join(escaped, "/")
	target.Path, target.RawPath = c.base.Path+plain, c.base.EscapedPath()+raw
	target.RawQuery = r.query.Encode()
	return target.String()
}

// warningOf returns the text of the header Warning, without its code and agent.
func warningOf(h http.Header) string {
	text := h.Get("Warning")
	if _, quoted, ok := strings.Cut(text, `"`); ok {
		text = strings.TrimSuffix(quoted, `"`)
	}
	return text
}

// nextOf returns the parameter "before" of the link to the next rows of a list; "" if the header Link has none.
func nextOf(h http.Header) string {
	target, rel, ok := strings.Cut(strings.TrimPrefix(h.Get("Link"), "<"), ">")
	link, err := url.Parse(target)
	if !ok || err != nil || !strings.Contains(rel, `rel="next"`) {
		return ""
	}
	return link.Query().Get("before")
}
