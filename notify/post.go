package notify

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// request is a message that is posted as JSON.
type request struct {
	address string
	body    []byte
	header  map[string]string
	// The connection must stand within connect, and the whole answer come within read after that.
	connect, read time.Duration
}

// mostAnswer is how much of an answer is read.
const mostAnswer = 64 << 10

// post sends a request and returns the status and the body of its answer. Redirects are not followed: they could lead
// a secret elsewhere. Errors name the host alone, since the rest of the address may be a secret, and have nothing
// that came from there but the status.
func post(ctx context.Context, r request) (status int, answer []byte, err error) {
	u, err := url.Parse(r.address)
	if err != nil {
		return 0, nil, errors.New("the address is no URL")
	}
	ctx, cancel := context.WithTimeout(ctx, r.connect+r.read)
	defer cancel()
	dialer := net.Dialer{Timeout: r.connect}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, TLSHandshakeTimeout: r.connect,
		MaxResponseHeaderBytes: mostAnswer,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &limited{conn, mostRead}, nil
		},
	}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	failed := func(err error) (int, []byte, error) {
		problem := cmp.Or(problemOf(err), "it does not answer as an HTTP server")
		if ctx.Err() != nil {
			problem = fmt.Sprintf("no answer within %s", r.connect+r.read)
		}
		return 0, nil, fmt.Errorf("POST to %s: %s", u.Host, problem)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.address, bytes.NewReader(r.body))
	if err != nil {
		return failed(err)
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set("User-Agent", "elasticjob")
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	res, err := client.Do(req)
	if err != nil {
		return failed(err)
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(res.Body, mostAnswer))
	if err != nil {
		return failed(err)
	}
	if res.StatusCode >= 300 && res.StatusCode <= 399 {
		return 0, nil, fmt.Errorf("POST to %s: it answers %d, and no redirect is followed; give the address itself",
			u.Host, res.StatusCode)
	}
	return res.StatusCode, answer, nil
}
