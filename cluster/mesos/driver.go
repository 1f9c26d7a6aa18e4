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

	// maxRedirects is how often one master may point to another while they elect.
	maxRedirects = 5
	// maxConns bounds the connections to the master: a call beyond that waits for one.
	maxConns = 64
	// defaultQueue is how many events wait for a slow reader before the stream does.
	defaultQueue = 16 << 10
)

// Options say how to reach the masters.
type Options struct {
	// Masters say where the masters are: either one address of the ZooKeeper where
	// they elect their leader, "zk://host:port,host:port/mesos", with "user:password@"
	// before the hosts where ZooKeeper wants that; or their own addresses, "http://host:port", to try
	// in this order: any of a quorum will do, it names the leader.
	Masters []string
	// Credentials, if not nil, are sent with every request.
	Credentials *Credentials
	// TLS, if not nil (see LoadTLS), is for a cluster whose masters and agents speak TLS:
	// addresses from ZooKeeper and of agents are https then, and those in Masters must be.
	TLS *tls.Config
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

// Driver opens subscriptions at a Mesos cluster. It is closed after its sessions.
type Driver struct {
	masters []*url.URL
	// begin is the master that is asked first: the one that let us in, or the one after that
	// which was asked last.
	begin atomic.Int64
	zk    *detector              // nil with masters
	tried atomic.Pointer[string] // the leader's node that was tried last; empty when there was none
	opts  Options
}

var _ cluster.Driver = (*Driver)(nil)

// New checks the options; it connects to nothing.
func New(opts Options) (*Driver, error) {
	masters, at, err := parseAddresses(opts.Masters, opts.TLS != nil)
	if err != nil {
		return nil, err
	}
	if opts.Queue < 0 {
		return nil, fmt.Errorf("a queue of %d events is not possible", opts.Queue)
	}
	opts.complete()
	d := &Driver{masters: masters, opts: opts}
	if at != nil {
		d.zk = &detector{zkAddress: at, opts: &d.opts}
	}
	return d, nil
}

// complete sets what has a default.
func (o *Options) complete() {
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

// Close ends the connection to ZooKeeper, if there is one, and waits for its goroutines. Nothing
// can be subscribed to afterwards; sessions that are still open no longer notice a
// change of leader before it ends them.
func (d *Driver) Close() error {
	if d.zk != nil {
		d.zk.close()
	}
	return nil
}

// Subscribe opens the stream at the leading master and waits for SUBSCRIBED.
//
// With ZooKeeper it asks there who leads, each time, and fails when nobody does. The
// session ends with ErrNotLeading within half a second when ZooKeeper names another.
//
// With a list it tries the masters in turn until one, or the leader that it names, lets us in; each has its share of
// the time that ctx leaves, and the next call goes on where this one ended, so that one which does not answer keeps
// nobody from the others. It stops early at an answer that no other master would change: a call that is refused with a
// 4xx status, or an ERROR event.
//
// A master's no is a *cluster.Refused: with the status of its answer, or with 403 when it came as an
// ERROR in place of SUBSCRIBED, which is a cluster.FrameworkError as well. The error's text names the flag to look
// at. It wraps ErrNoMaster for an address where something else answers.
func (d *Driver) Subscribe(ctx context.Context, f cluster.Framework) (cluster.Session, error) {
	body, err := subscribeCall(f).Marshal()
	if err != nil {
		return nil, fmt.Errorf("encode SUBSCRIBE: %w", err)
	}
	if d.zk != nil {
		return d.subscribeAtLeader(ctx, f, body)
	}
	var errs []error
	n, begin := len(d.masters), int(d.begin.Load())
	for i := range n {
		at := (begin + i) % n
		master := d.masters[at]
		s, err := d.subscribeWithin(ctx, n-i, master, body)
		if err == nil {
			d.begin.Store(int64(at))
			return s, nil
		}
		d.begin.Store(int64((at + 1) % n))
		errs = append(errs, fmt.Errorf("subscribe at %s: %w", master.Host,
			explain(err, master, f, d.opts.Credentials)))
		if ctx.Err() != nil || final(err) {
			break
		}
	}
	return nil, errors.Join(errs...)
}

// subscribeWithin gives the master its share of the time left, if so many are still to be asked.
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

func (d *Driver) subscribeAtLeader(ctx context.Context, f cluster.Framework, body []byte) (cluster.Session, error) {
	l, err := d.zk.leader(ctx)
	d.tried.Store(&l.node)
	if err != nil {
		return nil, fmt.Errorf("find the leading Mesos master: %w", err)
	}
	s, err := d.subscribeAt(ctx, l.url, body, func(s *session) { s.follow(d.zk, l) })
	if err != nil {
		return nil, fmt.Errorf("subscribe at %s, which leads by %s of %s: %w", l.url.Host, l.node, d.zk,
			explain(err, l.url, f, d.opts.Credentials))
	}
	return s, nil
}

// lookEvery is how often ZooKeeper is asked who leads, by an open session and while there is none.
const lookEvery = 500 * time.Millisecond

// NewLeader waits until ZooKeeper names another leading master than the one that the last
// Subscribe tried, and returns nil then. Without ZooKeeper, and where it doesn't answer, it waits until
// ctx ends, and returns ctx's error.
func (d *Driver) NewLeader(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
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
			if tried := d.tried.Load(); tried == nil || *tried != l.node {
				return nil
			}
		}
	}
}

func final(err error) bool {
	if errors.Is(err, ErrNoMaster) {
		return false
	}
	var refused *cluster.Refused
	if errors.As(err, &refused) {
		return refused.Status < 500
	}
	var failed cluster.FrameworkError
	return errors.As(err, &failed)
}

// subscribeAt opens a session at one master or the leader it redirects to. The
// session gets a context of its own, which ctx ends only until SUBSCRIBED is there, and
// runs beside, if not nil, until its end.
func (d *Driver) subscribeAt(ctx context.Context, master *url.URL, body []byte, beside func(*session)) (_ *session,
	err error) {
	streamCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	transport := d.opts.newTransport(maxConns)
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
	s.start(first, beside)
	return s, nil
}

// openStream sends SUBSCRIBE, follows redirects, and returns the leader's answer,
// whose body is the stream, and its address.
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
		discard(resp)
		leader, err := redirected(master, resp.Header.Get("Location"))
		if err != nil {
			return nil, nil, err
		}
		d.opts.Logger.Debug("mesos master does not lead", "master", master.Host, "leader", leader.Host)
		master = leader
	}
	return nil, nil, fmt.Errorf("redirected more than %d times, last to %s: the masters may be electing a leader",
		maxRedirects, master.Host)
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
		return fmt.Errorf("%w: it answers 200 without %s", ErrNoMaster, streamHeader)
	}
	if got := resp.Header.Get("Content-Type"); got != mediaType {
		return fmt.Errorf("the stream is of type %q, not %s", got, mediaType)
	}
	return nil
}

// newTransport makes a pool of connections. It goes through no proxy:
// the masters' and agents' addresses are the cluster's own.
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

// requestHeader is shared by many requests, and so never changed.
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

// answered turns an answer that is not the wished one into an error, and ends it.
// The answer of a gateway in between for a master that didn't answer it says nothing about the
// call; any other 4xx or 5xx, and the 307 of a master that doesn't lead, is a no.
func answered(resp *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	discard(resp)
	message := strings.TrimSpace(string(text))
	if message == "" {
		message = resp.Status
	} else if kind := typeOf(resp); kind == webPage || kind == inJSON {
		message = short(message)
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
