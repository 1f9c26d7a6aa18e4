// Package forward forwards requests from a follower to the leader.
package forward

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/admission"
	"github.com/elasticjob-go/elasticjob/api/answer"
	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/certificate"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/api/route"
	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/scheduler"
)

// dialTimeout bounds how long a follower tries to connect to the leader, and separately how long the TLS handshake may
// take.
const dialTimeout = 2 * time.Second

// leaderTransports carry requests to the leader. Every write gets a new connection: on a reused connection Go's
// transport may silently send a request a second time, and a follower never repeats a write (rule T3). With TLS both
// transports use HTTP/1.1: on a shared HTTP/2 connection, streams of output and other requests would all break off
// together.
type leaderTransports struct {
	scheme        string
	reads, writes *http.Transport
}

func newLeaderTransports(own *certificate.Keeper) leaderTransports {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}
	reads := &http.Transport{
		DialContext: dialer.DialContext, DisableCompression: true,
		MaxIdleConnsPerHost: 32, IdleConnTimeout: 30 * time.Second,
	}
	scheme := "http"
	if own != nil {
		scheme, reads.DialTLSContext = "https", secureDial(dialer, own)
	}
	writes := reads.Clone()
	writes.DisableKeepAlives = true
	return leaderTransports{scheme: scheme, reads: reads, writes: writes}
}

// secureDial returns a dial function for TLS connections. Each connection uses the certificates that are trusted at
// that time.
func secureDial(dialer *net.Dialer, own *certificate.Keeper) func(ctx context.Context, network,
	address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		plain, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		secure := tls.Client(plain, own.Client(host))
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = plain.Close() // the handshake's error says more
			return nil, err
		}
		return secure, nil
	}
}

func (m leaderTransports) close() {
	m.reads.CloseIdleConnections()
	m.writes.CloseIdleConnections()
}

// Options are the dependencies of a Forwarder.
type Options struct {
	Log       *slog.Logger
	Answers   *answer.Writer
	Scheduler interface {
		Leader() (scheduler.LeaderView, bool)
		Health() scheduler.Health
	}
	// Proof returns the headers with which a request is forwarded.
	Proof func(r *http.Request) (http.Header, error)
	// TLS, if not nil, makes connections to the leader use TLS.
	TLS *certificate.Keeper
	// Advertise is the host:port under which others reach this server.
	Advertise string
	// ForwardTimeout bounds a forwarded request; for a stream it bounds the time until the answer begins.
	ForwardTimeout time.Duration
	// AnswerGrace is how long a server that has lost the leadership may still take to answer a write that it received
	// as the leader.
	AnswerGrace time.Duration
	// ShuttingDown ends when the server begins to shut down. Streams then end.
	ShuttingDown context.Context
}

// Forwarder forwards requests to the leader.
type Forwarder struct {
	Options
	transports leaderTransports
}

// New returns a Forwarder. Close must be called to close its connections.
func New(o Options) *Forwarder {
	return &Forwarder{Options: o, transports: newLeaderTransports(o.TLS)}
}

// Close closes the connections to the leader that carry no request.
func (h *Forwarder) Close() { h.transports.close() }

// LeaderOnly wraps the handler of a route that only the leader can answer: on a follower the handler forwards the
// request instead.
func (h *Forwarder) LeaderOnly(r route.Route, work gin.HandlerFunc) gin.HandlerFunc {
	if r.Local && r.Scope != route.ScopeByApp {
		return work
	}
	return func(c *gin.Context) {
		// Only the leader knows which jobs belong to the apps of a grant for some apps.
		if h.Scheduler.Health().Leading || r.Local && !caller.Of(c.Request.Context()).IsRestricted() {
			work(c)
			return
		}
		h.Forward(c, work, r.Raw != nil)
	}
}

// leaderCheckInterval is the interval at which a waiting follower checks whether the leader of its request still
// leads.
const leaderCheckInterval = 50 * time.Millisecond

var (
	errLeaderChanged = errors.New("another server has become the leader")
	errNoAnswer      = errors.New("no answer in time")
)

// Forward answers with the leader's answer. If the leader changes meanwhile, a read, or a write that has not been sent
// yet, goes to the next leader. If that is this server, work answers the request here. All of this takes at most
// Options.ForwardTimeout, except for the body of a stream and for a request that fetches a package.
func (h *Forwarder) Forward(c *gin.Context, work gin.HandlerFunc, streams bool) {
	// Read the whole body before anything is sent: it is small, and a client that disconnects in the middle of it
	// changes nothing.
	body, err := request.WholeBody(c.Request)
	if err != nil {
		h.Answers.Fail(c.Writer, c.Request, err)
		return
	}
	if streams {
		answer.ExcludeFromMetrics(c)
		_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Time{}) // the request has been read
	}
	if request.FetchesPackage(c) {
		request.ExtendDeadlines(c)
	}
	timeLimit, cancel := context.WithTimeout(c.Request.Context(), request.Timeout(c, h.ForwardTimeout))
	defer cancel()
	for address := ""; ; {
		var here bool
		address, here, err = h.nextLeader(timeLimit, c.Request, address)
		if here {
			cancel()
			c.Request.Body = io.NopCloser(bytes.NewReader(body))
			work(c)
			return
		}
		if err != nil {
			break
		}
		p := attempt{server: h, c: c, address: address, body: body, streams: streams}
		err = p.send(timeLimit)
		if err == nil || p.sent.Load() && !failure.IsRead(c.Request.Method) || timeLimit.Err() != nil ||
			!h.otherLeads(address) {
			break
		}
	}
	if err != nil {
		h.Answers.Fail(c.Writer, c.Request, err)
	}
}

// otherLeads reports whether a server other than the one at the address is known to lead.
func (h *Forwarder) otherLeads(address string) bool {
	leader, ok := h.Scheduler.Leader()
	return ok && leader.Address != address
}

// nextLeader returns the address to forward a request to. here is set if this server leads itself. If before is the
// address of a leader that has lost the leadership, nextLeader waits for the next leader.
func (h *Forwarder) nextLeader(ctx context.Context, r *http.Request, before string) (address string, here bool,
	err error) {
	if before == "" {
		address, err = h.leaderAddress(r)
		return address, false, err
	}
	tick := time.NewTicker(leaderCheckInterval)
	defer tick.Stop()
	for {
		if h.Scheduler.Health().Leading {
			return "", true, nil
		}
		if address, err = h.leaderAddress(r); err == nil && address != before {
			return address, false, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return "", false, cmp.Or(err, errNoNext)
		case <-h.ShuttingDown.Done():
			return "", false, errShuttingDown
		}
	}
}

var (
	errNoNext       error = failure.Unchanged("no_leader", "the leader is changing: try again")
	errShuttingDown error = failure.Unchanged("leader_unreachable", "this server is shutting down: send the request to another one")
)

// attempt is one attempt to forward a request to one leader.
type attempt struct {
	server  *Forwarder
	c       *gin.Context
	address string
	body    []byte
	streams bool
	sent    atomic.Bool // a connection existed, so the leader may have received the request
	failed  error
}

// send passes the leader's answer to the client. If the leader gives none, it returns an error, and the client has
// received nothing yet. If the leader's answer breaks off, send breaks off the connection to the client.
func (p *attempt) send(timeLimit context.Context) error {
	h := p.server
	ctx, cancel := context.WithCancelCause(p.c.Request.Context())
	stopTimeout := context.AfterFunc(timeLimit, func() { cancel(errNoAnswer) })
	defer stopTimeout()
	if p.streams {
		defer context.AfterFunc(h.ShuttingDown, func() { cancel(errShuttingDown) })()
	}
	var watch sync.WaitGroup
	watch.Go(func() { p.watch(ctx, cancel) })
	defer watch.Wait()
	defer cancel(nil)

	request := p.c.Request.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { p.sent.Store(true) },
	}))
	headers, err := h.Proof(request)
	if err != nil {
		return err
	}
	request.Body, request.ContentLength, request.TransferEncoding = io.NopCloser(bytes.NewReader(p.body)),
		int64(len(p.body)), nil
	transport := h.transports.reads
	if !failure.IsRead(request.Method) {
		transport = h.transports.writes
	}
	proxy := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite: func(out *httputil.ProxyRequest) {
			out.Out.URL.Scheme, out.Out.URL.Host, out.Out.Host = h.transports.scheme, p.address, p.address
			out.Out.URL.RawQuery = out.In.URL.RawQuery // invalid ones too: the leader reports what is wrong
			out.Out.Header.Del("Origin")               // it was checked here
			maps.Copy(out.Out.Header, headers)
		},
		ModifyResponse: func(answer *http.Response) error {
			if err := p.speaksTLS(answer); err != nil {
				return err
			}
			if err := p.refusedToken(answer); err != nil {
				return err
			}
			if p.streams {
				stopTimeout()
			}
			for name := range answer.Header {
				p.c.Writer.Header().Del(name) // the leader's value counts
			}
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) { p.failed = p.failure(ctx, err) },
		ErrorLog:     slog.NewLogLogger(h.Log.Handler(), slog.LevelDebug),
	}
	proxy.ServeHTTP(h.Answers.Stream(p.c.Writer), request)
	return p.failed
}

// watch cancels the request when another server has become the leader. A write that may have been received gets
// AnswerGrace more time.
func (p *attempt) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(leaderCheckInterval)
	defer tick.Stop()
	var grace <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-grace:
			cancel(errLeaderChanged)
			return
		case <-tick.C:
			switch {
			case grace != nil || !p.server.otherLeads(p.address):
			case p.sent.Load() && !failure.IsRead(p.c.Request.Method):
				grace = time.After(p.server.AnswerGrace)
			default:
				cancel(errLeaderChanged)
				return
			}
		}
	}
}

// refusedToken returns an error if the leader refuses a token that this server accepted: then their token files
// differ.
func (p *attempt) refusedToken(answer *http.Response) error {
	if answer.StatusCode != http.StatusUnauthorized || caller.Of(p.c.Request.Context()).Kind != auth.TokenFile {
		return nil
	}
	p.server.Log.Error("token refused by the leader, accepted by this server: give all servers the same --api-token-file", "leader", p.address)
	return failure.Unchanged("token_differs", "this server accepts the token, and the leader at %s does not: their --api-token-file must hold the same token", p.address)
}

// leaderAddress returns the address to forward a request to, or an error that says why there is none.
func (h *Forwarder) leaderAddress(r *http.Request) (string, error) {
	if from := r.Header.Get(admission.ForwardedBy); from != "" {
		return "", failure.Unchanged("not_leading", "the server at %s forwarded this to a server that does not lead: try again",
			failure.Quoted(from))
	}
	leader, ok := h.Scheduler.Leader()
	switch {
	case !ok:
		return "", failure.Unchanged("no_leader", "no leader is known: try again. Last known state: %s",
			cmp.Or(h.Scheduler.Health().Detail, "waiting for an election"))
	case leader.Self || leader.Address == h.Advertise:
		return "", failure.Unchanged("not_leading",
			"the leader's address is this server's own, %s, and this server does not lead: it is just becoming or ceasing to be the leader, or an earlier run of it led a moment ago: try again. If that lasts, another server has the same --advertise", h.Advertise)
	}
	return leader.Address, nil
}

// failure converts a missing answer of the leader into the answer for the client. Only a write that the leader may
// have received has an unknown outcome.
func (p *attempt) failure(ctx context.Context, err error) error {
	if known := new(failure.Failure); errors.As(err, &known) {
		return err
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if differs := p.refusedTLS(err); differs != nil && !p.sent.Load() {
		return differs
	}
	read := failure.IsRead(p.c.Request.Method)
	switch {
	case p.sent.Load() && !read:
		return failure.Unavailable("outcome_unknown",
			"the leader at %s did not answer, and the change may have been done: check before you send it again (%v)",
			p.address, err)
	case errors.Is(err, errLeaderChanged), errors.Is(err, errShuttingDown):
		return err
	case errors.Is(err, errNoAnswer) && read:
		return failure.Unavailable("timeout",
			"the leader at %s did not answer within %s: try again; if that lasts, check whether it still runs: another server takes over when it has lost leadership", p.address, p.server.ForwardTimeout)
	}
	return failure.Unchanged("leader_unreachable",
		"the leader at %s gave no answer: try again; if that lasts, check the leader's --advertise (%v)", p.address,
		err)
}
