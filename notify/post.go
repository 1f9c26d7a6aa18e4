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

// request is a JSON message to be posted.
type request struct {
	address string
	body    []byte
	header  map[string]string
	// connect is the timeout of the connection. read is the timeout of the whole answer, after the connection.
	connect, read time.Duration
}

// maxAnswer is how many bytes of an answer's body are read, and the greatest size of its header.
const maxAnswer = 64 << 10

// post sends a request and returns the status and the body of the answer. A redirect is an error: to follow it could
// leak a secret to another host. The errors contain only the host of the address, because the rest may be a secret,
// and only the status of the answer.
func post(ctx context.Context, r request) (status int, answer []byte, err error) {
	u, err := url.Parse(r.address)
	if err != nil {
		return 0, nil, errors.New("the address is not a URL")
	}
	ctx, cancel := context.WithTimeout(ctx, r.connect+r.read)
	defer cancel()
	dialer := net.Dialer{Timeout: r.connect}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, TLSHandshakeTimeout: r.connect,
		MaxResponseHeaderBytes: maxAnswer,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &limitedConn{conn, maxRead}, nil
		},
	}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	failure := func(err error) (int, []byte, error) {
		problem := cmp.Or(problemOf(err), "it does not answer as an HTTP server")
		if ctx.Err() != nil {
			problem = fmt.Sprintf("no answer within %s", r.connect+r.read)
		}
		return 0, nil, fmt.Errorf("POST to %s: %s", u.Host, problem)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.address, bytes.NewReader(r.body))
	if err != nil {
		return failure(err)
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set("User-Agent", "elasticjob")
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	res, err := client.Do(req)
	if err != nil {
		return failure(err)
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return failure(err)
	}
	if res.StatusCode >= 300 && res.StatusCode <= 399 {
		return 0, nil, fmt.Errorf("POST to %s: it answers %d, and no redirect is followed; give the address itself",
			u.Host, res.StatusCode)
	}
	return res.StatusCode, answer, nil
}
