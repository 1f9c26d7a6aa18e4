package mesos

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
)

const (
	schedulerPath = "/api/v1/scheduler"
	mediaType     = "application/x-protobuf"
	streamHeader  = "Mesos-Stream-Id"

	// maxRedirects is how often one master may point to another while they elect.
	maxRedirects = 5
	// maxConns bounds the connections to the master: a call beyond that waits for one.
	maxConns = 64
	// defaultQueue is how many events wait for a slow reader before the stream does.
	defaultQueue = 16 << 10
)

// Options say how to reach the masters.
type Options struct {
	// Masters are the addresses to try, in this order: "http://host:port". Any
	// of a quorum will do, it names the leader.
	Masters []string
	// Credentials, if not nil, are sent with every request.
	Credentials *Credentials
	// Timeouts bound what a caller's context doesn't.
	Timeouts Timeouts
	// Queue is how many events a session holds for its reader; 0 means 16,384.
	Queue int
	// Logger defaults to one that is silent.
	Logger *slog.Logger
	// Dial opens connections; nil means TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Timeouts of HTTP; zero values take the defaults.
type Timeouts struct {
	// Connect bounds a connection's making; 5 s by default.
	Connect time.Duration
	// Answer is the time from a request's last byte to its answer's header, and
	// for SUBSCRIBE to the first event; 15 s by default.
	Answer time.Duration
}

// Credentials are for HTTP basic authentication. They never show in logs.
type Credentials struct{ User, Secret string }

// String hides the secret.
func (c Credentials) String() string { return c.User + ":***" }

// GoString hides the secret.
func (c Credentials) GoString() string { return c.String() }

// LogValue hides the secret.
func (c Credentials) LogValue() slog.Value { return slog.StringValue(c.String()) }

func (c *Credentials) header() string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(c.User+":"+c.Secret))
}

// Driver opens subscriptions at a Mesos cluster. It holds no connection
// itself, so it needs no closing.
type Driver struct {
	masters []*url.URL
	opts    Options
}

var _ cluster.Driver = (*Driver)(nil)

// New checks the options; it connects to nothing.
func New(opts Options) (*Driver, error) {
	if len(opts.Masters) == 0 {
		return nil, errors.New("no Mesos master given: name at least one as http://host:port")
	}
	if opts.Queue < 0 {
		return nil, fmt.Errorf("a queue of %d events is not possible", opts.Queue)
	}
	d := &Driver{opts: opts}
	d.opts.Timeouts = opts.Timeouts.orDefault()
	d.opts.Queue = cmp.Or(opts.Queue, defaultQueue)
	if opts.Logger == nil {
		d.opts.Logger = slog.New(slog.DiscardHandler)
	}
	for _, m := range opts.Masters {
		u, err := baseURL(m)
		if err != nil {
			return nil, fmt.Errorf("address of a Mesos master: %w", err)
		}
		u.Path = schedulerPath
		d.masters = append(d.masters, u)
	}
	return d, nil
}

func (t Timeouts) orDefault() Timeouts {
	return Timeouts{
		Connect: cmp.Or(t.Connect, 5*time.Second),
		Answer:  cmp.Or(t.Answer, 15*time.Second),
	}
}

// baseURL parses "http://host:port".
func baseURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || strings.Trim(u.Path, "/") != "" ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%q is not of the form http://host:port", u.Redacted())
	}
	return u, nil
}

// Subscribe tries the masters in order until one, or the leader that it names,
// opens the stream and says SUBSCRIBED. It stops early at an answer that no
// other master would change: a call that is refused with a 4xx status
// (*cluster.Refused), or an ERROR event (cluster.FrameworkError).
func (d *Driver) Subscribe(ctx context.Context, f cluster.Framework) (cluster.Session, error) {
	body, err := subscribeCall(f).Marshal()
	if err != nil {
		return nil, fmt.Errorf("encode SUBSCRIBE: %w", err)
	}
	var errs []error
	for _, master := range d.masters {
		s, err := d.subscribeAt(ctx, master, body)
		if err == nil {
			return s, nil
		}
		errs = append(errs, fmt.Errorf("subscribe at %s: %w", master.Host, err))
		if ctx.Err() != nil || final(err) {
			break
		}
	}
	return nil, errors.Join(errs...)
}

func final(err error) bool {
	var refused *cluster.Refused
	if errors.As(err, &refused) {
		return refused.Status < 500
	}
	var failed cluster.FrameworkError
	return errors.As(err, &failed)
}

// subscribeAt opens a session at one master or the leader it redirects to. The
// session gets a context of its own, which ctx ends only until SUBSCRIBED is there.
func (d *Driver) subscribeAt(ctx context.Context, master *url.URL, body []byte) (_ *session, err error) {
	streamCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	transport := newTransport(d.opts.Timeouts, d.opts.Dial, maxConns)
	letGo := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	defer func() {
		if err != nil {
			letGo()
			cancel(err)
			transport.CloseIdleConnections()
		}
	}()

	resp, leader, err := d.openStream(streamCtx, transport, master, body)
	if err != nil {
		return nil, err
	}
	s := newSession(streamCtx, cancel, d.opts, transport, leader, resp)
	first, err := s.subscribed(d.opts.Timeouts.Answer)
	if err == nil && !letGo() {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	s.start(first)
	return s, nil
}

// openStream sends SUBSCRIBE, follows redirects, and returns the leader's answer,
// whose body is the stream, and its address.
func (d *Driver) openStream(ctx context.Context, transport *http.Transport, master *url.URL, body []byte) (*http.Response, *url.URL, error) {
	header := requestHeader(d.opts.Credentials)
	for range maxRedirects + 1 {
		resp, err := transport.RoundTrip(newPost(ctx, master, header, body))
		if err != nil {
			return nil, nil, err
		}
		switch {
		case resp.StatusCode == http.StatusOK:
			if err := checkStream(resp); err != nil {
				_ = resp.Body.Close()
				return nil, nil, err
			}
			return resp, master, nil
		case resp.StatusCode != http.StatusTemporaryRedirect:
			return nil, nil, answered(resp)
		}
		discard(resp)
		leader, err := redirected(master, resp.Header.Get("Location"))
		if err != nil {
			return nil, nil, err
		}
		d.opts.Logger.Debug("mesos master does not lead", "master", master.Host, "leader", leader.Host)
		master = leader
	}
	return nil, nil, fmt.Errorf("redirected more than %d times, last to %s: the masters may be electing a leader", maxRedirects, master.Host)
}

// redirected resolves a Location, which Mesos sends without a scheme: "//host:port/path".
func redirected(from *url.URL, location string) (*url.URL, error) {
	to, err := from.Parse(location)
	if err != nil {
		return nil, fmt.Errorf("redirect of %s: %w", from.Host, err)
	}
	if location == "" || to.Host == "" || to.Scheme != from.Scheme {
		return nil, fmt.Errorf("redirect of %s to %q: not an address of a master", from.Host, location)
	}
	return to, nil
}

func checkStream(resp *http.Response) error {
	if resp.Header.Get(streamHeader) == "" {
		return fmt.Errorf("the answer has no %s: is this a Mesos master?", streamHeader)
	}
	if got := resp.Header.Get("Content-Type"); got != mediaType {
		return fmt.Errorf("the stream is of type %q, not %s", got, mediaType)
	}
	return nil
}

// newTransport makes a pool of connections. It goes through no proxy:
// the masters' and agents' addresses are the cluster's own.
func newTransport(t Timeouts, dial func(context.Context, string, string) (net.Conn, error), conns int) *http.Transport {
	if dial == nil {
		dial = (&net.Dialer{Timeout: t.Connect}).DialContext
	}
	var http1 http.Protocols
	http1.SetHTTP1(true)
	return &http.Transport{
		DialContext:           dial,
		Protocols:             &http1,
		TLSHandshakeTimeout:   t.Connect,
		ResponseHeaderTimeout: t.Answer,
		MaxConnsPerHost:       conns,
		MaxIdleConnsPerHost:   conns,
		IdleConnTimeout:       90 * time.Second,
		DisableCompression:    true,
		WriteBufferSize:       32 << 10,
	}
}

// requestHeader is shared by many requests, and so never changed.
func requestHeader(c *Credentials) http.Header {
	h := http.Header{
		"Content-Type": {mediaType},
		"Accept":       {mediaType},
		"User-Agent":   {"elasticjob"},
	}
	if c != nil {
		h.Set("Authorization", c.header())
	}
	return h
}

// answered turns an answer that is not the wished one into an error, and ends it.
// What a gateway in between says of a master that didn't answer it tells nothing about the
// call; any other 4xx or 5xx, and the 307 of a master that doesn't lead, is a no.
func answered(resp *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	discard(resp)
	message := strings.TrimSpace(string(text))
	if message == "" {
		message = resp.Status
	}
	switch status := resp.StatusCode; {
	case status == http.StatusBadGateway || status == http.StatusGatewayTimeout:
		return fmt.Errorf("outcome unknown: a gateway answered %d: %s", status, message)
	case status >= 400:
		return &cluster.Refused{Status: status, Message: message}
	case status == http.StatusTemporaryRedirect:
		return &cluster.Refused{Status: status, Message: "this master does not lead"}
	default:
		return fmt.Errorf("outcome unknown: unexpected answer %d: %s", status, message)
	}
}

// discard ends an answer so that its connection can be used again.
func discard(resp *http.Response) {
	if resp.ContentLength != 0 {
		_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	}
	_ = resp.Body.Close()
}
