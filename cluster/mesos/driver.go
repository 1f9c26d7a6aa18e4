package mesos

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
)

const (
	schedulerPath = "/api/v1/scheduler"
	mediaType     = "application/x-protobuf"
	streamHeader  = "Mesos-Stream-Id"

	// maxRedirects is how many redirects are followed: during an election, masters may redirect to one another.
	maxRedirects = 5
	// maxConns limits the connections to the master. Further calls wait for a free one.
	maxConns = 64
	// defaultQueue is the number of events that are buffered for a slow reader before the stream is held back.
	defaultQueue = 16 << 10
)

// Options configure how the driver reaches the masters.
type Options struct {
	// Masters has one of two forms. "zk://host:port,host:port/mesos" is the ZooKeeper address at which the masters
	// elect their leader, with "user:password@" before the hosts if ZooKeeper requires it; it may be split at its
	// commas. Otherwise Masters lists addresses of masters, "http://host:port", in the order in which they are tried.
	// Any reachable master is enough, because it redirects to the leader.
	Masters []string
	// Credentials, if not nil, are sent with every request.
	Credentials *Credentials
	// TLS (see LoadTLS) must be set if the masters and agents speak TLS. The driver then uses https for addresses from
	// ZooKeeper and from offers, and requires it in Masters.
	TLS *tls.Config
	// Timeouts limit each request in addition to the caller's context.
	Timeouts Timeouts
	// Queue is the number of events that a session buffers for its reader; 0 means 16,384.
	Queue int
	// Logger discards everything if it is nil.
	Logger *slog.Logger
	// Dial opens connections; nil means TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Timeouts are HTTP timeouts; a zero value means the default.
type Timeouts struct {
	// Connect limits the time to open a connection; 5 s by default.
	Connect time.Duration
	// Answer limits the time from the last byte of a request to the header of the answer, and for SUBSCRIBE to the
	// first event; 15 s by default.
	Answer time.Duration
}

// Driver opens subscriptions to a Mesos cluster. Close it after its sessions.
type Driver struct {
	masters []*url.URL
	// next is the index of the master to try first: the one that accepted the last SUBSCRIBE, or else the one after
	// the last that was tried.
	next      atomic.Int64
	zk        *detector              // nil if Masters holds addresses of masters
	lastTried atomic.Pointer[string] // node of the leader that the last Subscribe tried; empty if it found none
	opts      Options
}

var _ cluster.Driver = (*Driver)(nil)

// New checks the options. It opens no connection.
func New(opts Options) (*Driver, error) {
	masters, zkAddress, err := parseAddresses(opts.Masters, opts.TLS != nil)
	if err != nil {
		return nil, err
	}
	if opts.Queue < 0 {
		return nil, fmt.Errorf("a queue of %d events is not possible", opts.Queue)
	}
	opts.setDefaults()
	d := &Driver{masters: masters, opts: opts}
	if zkAddress != nil {
		d.zk = &detector{zkAddress: zkAddress, opts: &d.opts}
	}
	return d, nil
}

// setDefaults sets the defaults of options that are not set.
func (o *Options) setDefaults() {
	o.Timeouts.Connect = cmp.Or(o.Timeouts.Connect, 5*time.Second)
	o.Timeouts.Answer = cmp.Or(o.Timeouts.Answer, 15*time.Second)
	o.Queue = cmp.Or(o.Queue, defaultQueue)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: o.Timeouts.Connect}).DialContext
	}
}

// Close ends the connection to ZooKeeper, if the driver uses ZooKeeper, and waits for its goroutines. After that,
// Subscribe fails, and open sessions do not notice changes of the leader. Without ZooKeeper it does nothing.
func (d *Driver) Close() error {
	if d.zk != nil {
		d.zk.close()
	}
	return nil
}

// Subscribe opens the stream at the leading master and waits for SUBSCRIBED.
//
// With ZooKeeper, it reads the leader there each time and fails if there is none. The session ends with ErrNotLeading
// within half a second after ZooKeeper names another leader.
//
// With a list, it tries the masters in turn until one of them, or the leader that it redirects to, accepts the
// subscription. Each master gets an equal share of the time until ctx's deadline, and the next call starts after the
// master that was tried last, so that a master that does not answer cannot block the others. Subscribe stops early at
// an answer that every other master would give as well: a rejection with a 4xx status, or an ERROR event.
//
// A rejection is a *cluster.Refused. Its status is that of the answer, or 403 if the master sent ERROR in place of
// SUBSCRIBED; the error is then a cluster.FrameworkError as well. The error's text names the flag to check. It wraps
// ErrNoMaster if the server at the address is not a Mesos master.
func (d *Driver) Subscribe(ctx context.Context, f cluster.Framework) (cluster.Session, error) {
	body, err := subscribeCall(f).Marshal()
	if err != nil {
		return nil, fmt.Errorf("encode SUBSCRIBE: %w", err)
	}
	if d.zk != nil {
		return d.subscribeAtLeader(ctx, f, body)
	}
	var errs []error
	n, start := len(d.masters), int(d.next.Load())
	for i := range n {
		index := (start + i) % n
		master := d.masters[index]
		s, err := d.subscribeWithin(ctx, n-i, master, body)
		if err == nil {
			d.next.Store(int64(index))
			return s, nil
		}
		d.next.Store(int64((index + 1) % n))
		errs = append(errs, fmt.Errorf("subscribe at %s: %w", master.Host,
			explain(err, master, f, d.opts.Credentials)))
		if ctx.Err() != nil || isFinal(err) {
			break
		}
	}
	return nil, errors.Join(errs...)
}

// subscribeWithin subscribes at a master within an equal share of the remaining time. masters is the number of masters
// that are still to be tried, this one included.
func (d *Driver) subscribeWithin(ctx context.Context, masters int, master *url.URL, body []byte) (cluster.Session,
	error) {
	if end, limited := ctx.Deadline(); limited && masters > 1 {
		share := time.Until(end) / time.Duration(masters)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, share,
			fmt.Errorf("no answer within %s: %w", share.Round(time.Millisecond), context.DeadlineExceeded))
		defer cancel()
	}
	return d.subscribeAt(ctx, master, body, nil)
}

// subscribeAtLeader subscribes at the master that leads according to ZooKeeper.
func (d *Driver) subscribeAtLeader(ctx context.Context, f cluster.Framework, body []byte) (cluster.Session, error) {
	l, err := d.zk.leader(ctx)
	d.lastTried.Store(&l.node)
	if err != nil {
		return nil, fmt.Errorf("find the leading Mesos master: %w", err)
	}
	s, err := d.subscribeAt(ctx, l.url, body, func(s *session) { s.watchLeader(d.zk, l) })
	if err != nil {
		return nil, fmt.Errorf("subscribe at %s, which leads by %s of %s: %w", l.url.Host, l.node, d.zk,
			explain(err, l.url, f, d.opts.Credentials))
	}
	return s, nil
}

// checkInterval is the interval at which the leader is read from ZooKeeper, by an open session and by NewLeader.
const checkInterval = 500 * time.Millisecond

// NewLeader returns nil as soon as ZooKeeper names a leading master other than the one that the last Subscribe tried.
// Without ZooKeeper, or while ZooKeeper does not answer, it waits until ctx ends and returns ctx's error.
func (d *Driver) NewLeader(ctx context.Context) error {
	tick := time.NewTicker(checkInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if d.zk == nil {
			continue
		}
		if l, err := d.zk.leader(ctx); err == nil {
			if tried := d.lastTried.Load(); tried == nil || *tried != l.node {
				return nil
			}
		}
	}
}

// isFinal reports whether any other master would also answer with this error.
func isFinal(err error) bool {
	if errors.Is(err, ErrNoMaster) {
		return false
	}
	var refused *cluster.Refused
	if errors.As(err, &refused) {
		return refused.Status < 500
	}
	var frameworkError cluster.FrameworkError
	return errors.As(err, &frameworkError)
}

// subscribeAt opens a session at a master, or at the leader that the master redirects to. The session has its own
// context, which the end of ctx cancels only until SUBSCRIBED has arrived. If background is not nil, it runs in a
// goroutine of the session and must return when the session ends.
func (d *Driver) subscribeAt(ctx context.Context, master *url.URL, body []byte, background func(*session)) (_ *session,
	err error) {
	streamCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	transport := d.opts.newTransport(maxConns)
	stopCancel := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	defer func() {
		if err != nil {
			stopCancel()
			cancel(err)
			transport.CloseIdleConnections()
		}
	}()

	resp, leader, err := d.openStream(streamCtx, transport, master, body)
	if err != nil {
		return nil, err
	}
	s := newSession(streamCtx, cancel, d.opts, transport, leader, resp)
	first, err := s.awaitSubscribed(d.opts.Timeouts.Answer)
	if err == nil && !stopCancel() {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	s.start(first, background)
	return s, nil
}

// openStream sends SUBSCRIBE and follows redirects. It returns the leader's answer, whose body is the stream, and the
// leader's address.
func (d *Driver) openStream(ctx context.Context, transport *http.Transport, master *url.URL,
	body []byte) (*http.Response, *url.URL, error) {
	header := requestHeader(d.opts.Credentials, mediaType)
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
			return nil, nil, subscribeAnswer(resp)
		}
		drainBody(resp)
		leader, err := redirected(master, resp.Header.Get("Location"))
		if err != nil {
			return nil, nil, err
		}
		d.opts.Logger.Debug("mesos master is not the leader", "master", master.Host, "leader", leader.Host)
		master = leader
	}
	return nil, nil, fmt.Errorf("redirected more than %d times, last to %s: the masters may be electing a leader",
		maxRedirects, master.Host)
}

// redirected resolves a Location header, which Mesos sends without a scheme: "//host:port/path".
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

// checkStream checks that an answer with status 200 is an event stream of a master.
func checkStream(resp *http.Response) error {
	if resp.Header.Get(streamHeader) == "" {
		return fmt.Errorf("%w: it answers 200 without %s", ErrNoMaster, streamHeader)
	}
	if got := resp.Header.Get("Content-Type"); got != mediaType {
		return fmt.Errorf("the stream is of type %q, not %s", got, mediaType)
	}
	return nil
}

// newTransport returns a connection pool. It ignores proxy settings, because masters and agents are inside the
// cluster's network.
func (o *Options) newTransport(conns int) *http.Transport {
	var http1 http.Protocols
	http1.SetHTTP1(true)
	return &http.Transport{
		DialContext:           o.Dial,
		TLSClientConfig:       o.TLS.Clone(),
		Protocols:             &http1,
		TLSHandshakeTimeout:   o.Timeouts.Connect,
		ResponseHeaderTimeout: o.Timeouts.Answer,
		MaxConnsPerHost:       conns,
		MaxIdleConnsPerHost:   conns,
		IdleConnTimeout:       90 * time.Second,
		DisableCompression:    true,
		WriteBufferSize:       32 << 10,
	}
}

// requestHeader returns the header for requests with this media type. Many requests share it, so it must not be
// modified.
func requestHeader(c *Credentials, media string) http.Header {
	h := http.Header{
		"Content-Type": {media},
		"Accept":       {media},
		"User-Agent":   {"elasticjob"},
	}
	if c != nil {
		h.Set("Authorization", c.header())
	}
	return h
}

// answerError turns an unexpected answer into an error and closes the answer. The outcome is unknown after 502 or 504,
// by which a gateway says that the master did not respond. Any other 4xx or 5xx, and the 307 of a master that does not
// lead, is a rejection.
func answerError(resp *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	drainBody(resp)
	message := strings.TrimSpace(string(text))
	if message == "" {
		message = resp.Status
	} else if kind := typeOf(resp); kind == webPage || kind == inJSON {
		message = shorten(message)
	}
	switch status := resp.StatusCode; {
	case status == http.StatusBadGateway || status == http.StatusGatewayTimeout:
		return fmt.Errorf("outcome unknown: a gateway answered %d: %s", status, message)
	case status >= 400:
		return &cluster.Refused{Status: status, Message: message}
	case status == http.StatusTemporaryRedirect:
		return &cluster.Refused{Status: status, Message: "this master is not the leader"}
	default:
		return fmt.Errorf("outcome unknown: unexpected answer %d: %s", status, message)
	}
}

// drainBody reads and closes an answer so that its connection can be reused.
func drainBody(resp *http.Response) {
	if resp.ContentLength != 0 {
		_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	}
	_ = resp.Body.Close()
}
