package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Error is the error of a request that the server refused.
type Error struct {
	// Status is the HTTP status. Code is the server's code of the error, for programs; "" if the answer is not a
	// scheduler's, but for example that of a proxy in front of it.
	Status  int
	Code    string
	Message string
	// Fields are all violations in the request.
	Fields []Field
	// RetryAfter is the delay after which the request may be repeated; 0 if the server gives none.
	RetryAfter time.Duration
}

// Field is one violation in a request.
type Field struct {
	Field   string `json:"field"`
	Value   string `json:"value"`
	Message string `json:"message"`
}

// Error returns the server's message.
func (e *Error) Error() string { return e.Message }

// HasCode reports whether err is an [*Error] with that code.
func HasCode(err error, code string) bool {
	var refused *Error
	return errors.As(err, &refused) && refused.Code == code
}

// maxErrorText limits how much of an error's body is read, in bytes.
const maxErrorText = 1 << 20

// readError returns the error for a response whose status is not 200.
func (c *Client) readError(resp *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorText))
	if err != nil {
		text = nil // the status says enough
	}
	e := &Error{Status: resp.StatusCode}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	var body struct {
		Error struct {
			Code    string
			Message string
			Fields  []Field
		}
	}
	if json.Unmarshal(text, &body) == nil && body.Error.Code != "" {
		e.Code, e.Message, e.Fields = body.Error.Code, body.Error.Message, body.Error.Fields
		c.presence.answered.Store(true)
		return e
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	if strings.HasPrefix(first, "<") { // an HTML page
		first = ""
	}
	if strings.Contains(first, "HTTP request to an HTTPS server") {
		e.Message = "the server speaks https: write https:// in its URL"
		return e
	}
	if to := c.redirected(resp); to != "" {
		e.Message = fmt.Sprintf("%s redirects to %s: give that URL as the server's, if it is the one that you mean",
			c.Server(), to)
		return e
	}
	e.Message = strings.TrimSuffix(fmt.Sprintf("the answer is %s, and not a scheduler's: %.200s", resp.Status, first),
		": ")
	return e
}

// redirected returns the URL of the server to which a response redirects, without the path of the request; "" if the
// response is not a redirect.
func (c *Client) redirected(resp *http.Response) string {
	to, err := resp.Location()
	if resp.StatusCode/100 != 3 || err != nil || to.Host == "" {
		return ""
	}
	to.Path = strings.TrimRight(strings.TrimSuffix(to.Path, strings.TrimPrefix(resp.Request.URL.Path, c.base.Path)),
		"/")
	to.RawPath, to.RawQuery, to.Fragment, to.User = "", "", "", nil
	return to.String()
}

// UnreachableError is the error of a request that got no answer.
type UnreachableError struct {
	// Server is the server's URL.
	Server string
	// Advice is what the user can try.
	Advice string
	Err    error
}

// Error names the server, the reason and the advice.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no answer from %s: %v; %s", e.Server, cause(e.Err), e.Advice)
}

// Unwrap returns the reason.
func (e *UnreachableError) Unwrap() error { return e.Err }

// unreachable returns the UnreachableError for an error of the network, or context.Canceled if the caller has
// cancelled the request.
func (c *Client) unreachable(err error) error {
	if errors.Is(err, context.Canceled) {
		return context.Canceled
	}
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		lookup    *net.DNSError
		notTLS    tls.RecordHeaderError
	)
	advice := "check the server, and try again"
	switch text := err.Error(); {
	case errors.As(err, &notTLS), strings.Contains(text, "HTTP response to HTTPS client"):
		advice = "it speaks http: write http:// in its URL"
	case errors.As(err, &authority):
		advice = "name the authority that signed its certificate by --ca, if it is one that you trust"
	case errors.As(err, &host):
		advice = "use the name that its certificate is for"
	case errors.As(err, &lookup), errors.Is(err, syscall.ECONNREFUSED), isDial(err):
		advice = "check that the server is running and that this is its address; " +
			"--server URL, --context NAME or ELASTICJOB_SERVER name another"
	case errors.Is(err, context.DeadlineExceeded):
		advice = "it may be overloaded or cut off; the request may have been carried out: check first"
	}
	return &UnreachableError{Server: c.Server(), Advice: advice, Err: err}
}

// isBroken reports whether the connection broke before the answer ended.
func isBroken(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE)
}

// isDial reports whether the connection could not be made.
func isDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// cause returns an error of net/http without the method and the URL, which users do not need.
func cause(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("it took too long")
	}
	var withURL *url.Error
	if errors.As(err, &withURL) {
		return withURL.Err
	}
	return err
}
