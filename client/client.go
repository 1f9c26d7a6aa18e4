// Package client talks to the scheduler's REST API. It is what the command
// line is made of, and may be used by any other program; it imports the
// standard library only.
//
//	New ──▶ Client ── Apps, Job, TriggerJob, Executions, … ──▶ Answer: the server's text, and what it means
//	               ── Events, Watch ──▶ what changes, as it changes
//	               ── CopyLog ──▶ a task's output, as it comes
//
// A server's refusal is an [*Error] with its code and fields, a server that
// gives no answer is an [*UnreachableError]. What only reads, and triggers,
// which have a key, are tried again for some seconds while a server, or a proxy
// before it, says that it can't answer now. Any request is that was put off
// (429), since it was not carried out. A trigger that may have made a run
// although no answer came is an [*UnknownError] with its key.
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

// DefaultServer is where a scheduler listens without --listen.
const DefaultServer = "http://127.0.0.1:8899"

const (
	// requestTimeout bounds a request whose answer comes at once.
	requestTimeout = 30 * time.Second
	// checkTimeout bounds one that has the server fetch a package first.
	checkTimeout = 3 * time.Minute
	// mostAnswer is more than any document or list, in bytes.
	mostAnswer = 1 << 30
)

// Options says which server a client talks to, and as whom.
type Options struct {
	// Server is the server's URL; http and the host are enough, as in jobs.example.com:8899.
	// Empty is DefaultServer.
	Server string
	// Token is sent with each request: an API token, or that of a login.
	Token string
	// CAFile, if there is one, holds the certificates (PEM) that the server's must be
	// signed by, instead of the system's.
	CAFile string
	// UserAgent is what the server sees in that header.
	UserAgent string
	// Waiting, if it is not nil, is called with the reason when Watch or CopyLog begin to wait for a server that gives
	// no answer: once until it answers again. Several goroutines may call it.
	Waiting func(error)
}

// Client talks to one server. It may be used by many goroutines at once.
type Client struct {
	base  *url.URL
	token string
	agent string
	http  *http.Client
	// patience and absence are how long an answer is waited for: patience.go and watch.go say of what.
	patience, absence time.Duration
	presence          presence
}

// New makes a client. It sends nothing yet.
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
	return &Client{base: base, token: o.Token, agent: o.UserAgent, patience: patience, absence: absence,
		presence: presence{waiting: o.Waiting}, http: &http.Client{
			Transport: transport,
			// The token would go wherever a redirect leads.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}}, nil
}

// ParseServer reads a server's URL as Options.Server has it.
func ParseServer(text string) (*url.URL, error) {
	if text == "" {
		text = DefaultServer
	}
	whole := text
	if !strings.Contains(whole, "://") {
		whole = "http://" + whole
	}
	base, err := url.Parse(whole)
	switch {
	case err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, fmt.Errorf("server %q: want a URL such as %s or https://jobs.example.com", text, DefaultServer)
	case base.User != nil:
		return nil, fmt.Errorf("server %q: a URL holds no password; log in, or use a token", base.Redacted())
	}
	base.Path, base.RawQuery, base.Fragment = strings.TrimRight(base.Path, "/"), "", ""
	return base, nil
}

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

// Server is the URL of the server that the client talks to.
func (c *Client) Server() string { return c.base.String() }

// Close gives up connections that are kept open.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Answer is what the server answered.
type Answer[T any] struct {
	// Raw is its text, as it came.
	Raw json.RawMessage
	// Value is what that means.
	Value T
	// Warning is what the server says beside it, such as that its history can't be read now.
	Warning string
	// Next leads to the older rows of a list that has as many as were asked for.
	Next string
}

// request is one request to be made.
type request struct {
	method string
	// path are the segments below /, not yet escaped.
	path  []string
	query url.Values
	// body is sent as JSON: a json.RawMessage as it is.
	body any
	// key is sent as Idempotency-Key.
	key     string
	timeout time.Duration
}

func get(path ...string) request  { return request{method: http.MethodGet, path: path} }
func post(path ...string) request { return request{method: http.MethodPost, path: path} }

func (r request) with(query url.Values) request { r.query = query; return r }

func (r request) sending(body any) request { r.body = body; return r }

// call makes a request whose answer is JSON.
func call[T any](ctx context.Context, c *Client, r request) (Answer[T], error) {
	var a Answer[T]
	for _, segment := range r.path {
		if segment == "" || segment == "." || segment == ".." { // it would lead to another route
			return a, fmt.Errorf("%q is no name", segment)
		}
	}
	err := c.patiently(ctx, r, func() error {
		text, header, err := c.whole(ctx, r)
		if err != nil {
			return err
		}
		a = Answer[T]{Raw: bytes.TrimSpace(text), Warning: warningOf(header), Next: nextOf(header)}
		if err := json.Unmarshal(text, &a.Value); err != nil {
			return fmt.Errorf("%s does not answer as a scheduler does (%w): is it one, and of a version that fits?",
				c.at(r), err)
		}
		return nil
	})
	return a, err
}

// whole makes a request once and reads the answer.
func (c *Client) whole(ctx context.Context, r request) ([]byte, http.Header, error) {
	limit := r.timeout
	if limit == 0 {
		limit = requestTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	resp, err := c.open(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer))
	if err != nil {
		return nil, nil, c.unreachable(err)
	}
	return text, resp.Header, nil
}

// open makes a request once and leaves the answer's body to be read by the caller. An answer
// that is no success is an error.
func (c *Client) open(ctx context.Context, r request) (*http.Response, error) {
	var body io.Reader
	if r.body != nil {
		text, err := json.Marshal(r.body)
		if raw, ok := r.body.(json.RawMessage); ok {
			text, err = raw, nil // as it is, also if it is no JSON: the server says where
		}
		if err != nil {
			return nil, fmt.Errorf("write the request's body: %w", err)
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, c.at(r), body)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	for name, value := range map[string]string{"accessToken": c.token, "User-Agent": c.agent,
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

func (c *Client) at(r request) string {
	whole := *c.base
	escaped := make([]string, len(r.path))
	for i, segment := range r.path {
		escaped[i] = url.PathEscape(segment)
	}
	plain, raw := "/"+strings.Join(r.path, "/"), "/"+strings.Join(escaped, "/")
	whole.Path, whole.RawPath = c.base.Path+plain, c.base.EscapedPath()+raw
	whole.RawQuery = r.query.Encode()
	return whole.String()
}

// warningOf is the text of a Warning header, without the code and the agent before it.
func warningOf(h http.Header) string {
	text := h.Get("Warning")
	if _, quoted, ok := strings.Cut(text, `"`); ok {
		text = strings.TrimSuffix(quoted, `"`)
	}
	return text
}

// nextOf is the parameter before of the link to a list's next rows.
func nextOf(h http.Header) string {
	target, rel, ok := strings.Cut(strings.TrimPrefix(h.Get("Link"), "<"), ">")
	link, err := url.Parse(target)
	if !ok || err != nil || !strings.Contains(rel, `rel="next"`) {
		return ""
	}
	return link.Query().Get("before")
}
