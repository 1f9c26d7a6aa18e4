package link

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster/local/apihttp"
)

// timeout limits the time for a connection, an answer or a write.
const timeout = 10 * time.Second

// Client is the Upstream of an agent whose master runs in another process. Create it with NewClient.
type Client struct {
	master      string
	credentials *apihttp.Credentials
	http        *http.Client
}

// NewClient creates a client of the master with the base URL master, "http://host:port". The credentials are sent
// unless they are nil.
func NewClient(master string, credentials *apihttp.Credentials) *Client {
	return &Client{master: strings.TrimSuffix(master, "/"), credentials: credentials,
		http: &http.Client{Transport: &http.Transport{
			DialContext: (&net.Dialer{Timeout: timeout}).DialContext, ResponseHeaderTimeout: timeout,
		}}}
}

// Register implements Upstream.
func (c *Client) Register(ctx context.Context, r Registration) (_ Session, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("register the agent at the master %s: %w", c.master, err)
		}
	}()
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.master+RegisterPath, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Connection", "Upgrade")
	request.Header.Set("Upgrade", protocol)
	if own := c.credentials; own != nil {
		request.SetBasicAuth(own.Principal, own.Secret)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusSwitchingProtocols {
		defer response.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1000)) // an error's text may be cut off
		switch response.StatusCode {
		case http.StatusUnauthorized:
			return nil, ErrCredentials
		case http.StatusForbidden:
			return nil, ErrGone
		}
		return nil, fmt.Errorf("it answered %d: %s", response.StatusCode, bytes.TrimSpace(text))
	}
	conn, isUpgraded := response.Body.(io.ReadWriteCloser)
	silence, err := strconv.ParseFloat(response.Header.Get(silenceHeader), 64)
	if err != nil || silence <= 0 || !isUpgraded {
		return nil, errors.Join(errors.New("its answer is not that of a local master"), response.Body.Close())
	}
	s := &clientSession{conn: conn, orders: json.NewDecoder(conn), news: json.NewEncoder(conn),
		silence: time.Duration(silence * float64(time.Second))}
	s.watchdog = time.AfterFunc(s.silence, func() { _ = conn.Close() }) // the next read returns an error
	return s, nil
}

// clientSession is a session over one connection.
type clientSession struct {
	conn   io.ReadWriteCloser
	orders *json.Decoder
	news   *json.Encoder
	// watchdog closes the connection if no order, not even a ping, has arrived for the time silence.
	silence  time.Duration
	watchdog *time.Timer
}

// Orders implements Session.
func (s *clientSession) Orders() ([]Order, error) {
	var o Order
	if err := s.orders.Decode(&o); err != nil {
		return nil, fmt.Errorf("read the master's orders: %w", err)
	}
	s.watchdog.Reset(s.silence)
	return []Order{o}, nil
}

// Report implements Session.
func (s *clientSession) Report(n News) error {
	if err := s.news.Encode(n); err != nil {
		return fmt.Errorf("send news to the master: %w", err)
	}
	return nil
}

// Close implements Session.
func (s *clientSession) Close() {
	s.watchdog.Stop()
	_ = s.conn.Close() // the session ends in any case
}
