// Package forward forwards requests to the server that leads.
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

// dialLeader bounds how long a follower tries to reach the leader, and then for how long to agree on TLS with it.
const dialLeader = 2 * time.Second

// leaderTransports carry requests to the leader. Those that change something have a connection of their own: on one
// that was used before, Go's transport may send again what broke, and a follower never repeats a write (rule T3). With
// TLS both speak HTTP/1.1 over it: streams of output and requests that share a connection would break off together.
type leaderTransports struct {
	scheme        string
	reads, writes *http.Transport
}

func newLeaderTransports(own *certificate.Keeper) leaderTransports {
	dialer := &net.Dialer{Timeout: dialLeader, KeepAlive: 15 * time.Second}
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

// secureDial makes TLS connections, each with those trusted that are trusted by then.
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
		ctx, cancel := context.WithTimeout(ctx, dialLeader)
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

// Options are what is needed to forward requests to the leader.
type Options struct {
	Log       *slog.Logger
	Answers   *answer.Writer
	Scheduler interface {
		Leader() (scheduler.LeaderView, bool)
		Health() scheduler.Health
	}
	// Proof is the headers that a request is forwarded with.
	Proof func(r *http.Request) (http.Header, error)
	// TLS, if not nil, is what is spoken with the leader.
	TLS *certificate.Keeper
	// Advertise is the host:port at which others find this server.
	Advertise string
	// ForwardTimeout bounds a request that is forwarded to the leader, one that streams until its answer begins.
	ForwardTimeout time.Duration
	// LastAnswer is how long a former leader may take to answer a change that it was sent while it led.
	LastAnswer time.Duration
	// Ending is over at the beginning of the server's end: then answers that stream are ended.
	Ending context.Context
}

// Forwarder forwards requests to the leader.
type Forwarder struct {
	Options
	transports leaderTransports
}

// New makes what forwards requests; close ends its connections.
func New(o Options) *Forwarder {
	return &Forwarder{Options: o, transports: newLeaderTransports(o.TLS)}
}

// Close closes connections to the leader that carry no request.
func (h *Forwarder) Close() { h.transports.close() }

// LeaderOnly wraps the work of a route that only the leader does: a follower forwards the request to it.
func (h *Forwarder) LeaderOnly(r route.Route, work gin.HandlerFunc) gin.HandlerFunc {
	if r.Local && r.Scope != route.ByApp {
		return work
	}
	return func(c *gin.Context) {
		// Which jobs are of somebody's apps only the leader knows.
		if h.Scheduler.Health().Leading || r.Local && !caller.Of(c.Request.Context()).ForSome() {
			work(c)
			return
		}
		h.Forward(c, work, r.Raw != nil)
	}
}

// leaderLook is how often a waiting follower checks whether the leader of its request still leads.
const leaderLook = 50 * time.Millisecond

var (
	errOtherLeads = errors.New("meanwhile another server leads")
	errNoAnswer   = errors.New("no answer in time")
)

// Forward answers with what the leader answers. When the lead changes meanwhile, a request that changes nothing, or
// that was not sent yet, goes to the next leader. That may be this server: then work answers it here. All of it takes
// at most Options.ForwardTimeout, but for the answer of a route that streams, and for one that waits for a package.
func (h *Forwarder) Forward(c *gin.Context, work gin.HandlerFunc, streams bool) {
	// Whole, before anything is sent: it is small, and so a client that breaks off changes nothing.
	body, err := request.WholeBody(c.Request)
	if err != nil {
		h.Answers.Fail(c.Writer, c.Request, err)
		return
	}
	if streams {
		answer.LeaveUnmeasured(c)
		_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Time{}) // it is read already
	}
	if request.FetchesPackage(c) {
		request.LastLonger(c)
	}
	patience, cancel := context.WithTimeout(c.Request.Context(), request.TimeFor(c, h.ForwardTimeout))
	defer cancel()
	for address := ""; ; {
		var here bool
		address, here, err = h.nextLeader(patience, c.Request, address)
		if here {
			cancel()
			c.Request.Body = io.NopCloser(bytes.NewReader(body))
			work(c)
			return
		}
		if err != nil {
			break
		}
		p := forwarding{server: h, c: c, address: address, body: body, streams: streams}
		err = p.send(patience)
		if err == nil || p.sent.Load() && !failure.IsRead(c.Request.Method) || patience.Err() != nil ||
			!h.otherLeads(address) {
			break
		}
	}
	if err != nil {
		h.Answers.Fail(c.Writer, c.Request, err)
	}
}

// otherLeads reports whether another server than the one at an address is seen to lead.
func (h *Forwarder) otherLeads(address string) bool {
	leader, ok := h.Scheduler.Leader()
	return ok && leader.Address != address
}

// nextLeader is the address to forward a request to, or says that this server leads itself, or why nobody
// can be asked. After one that leads no more, it waits for the next one.
func (h *Forwarder) nextLeader(ctx context.Context, r *http.Request, before string) (address string, here bool,
	err error) {
	if before == "" {
		address, err = h.whoLeads(r)
		return address, false, err
	}
	tick := time.NewTicker(leaderLook)
	defer tick.Stop()
	for {
		if h.Scheduler.Health().Leading {
			return "", true, nil
		}
		if address, err = h.whoLeads(r); err == nil && address != before {
			return address, false, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return "", false, cmp.Or(err, errNoNext)
		case <-h.Ending.Done():
			return "", false, errServerEnds
		}
	}
}

var (
	errNoNext     error = failure.NotBegun("no_leader", "the lead is changing: try again")
	errServerEnds error = failure.NotBegun("leader_unreachable", "this server is ending: ask another one")
)

// forwarding is one try to forward a request to one leader.
type forwarding struct {
	server  *Forwarder
	c       *gin.Context
	address string
	body    []byte
	streams bool
	sent    atomic.Bool // there was a connection: the leader may have got it
	failed  error
}

// send gives the leader's answer to the client, or, when there is none, an error: then nothing was
// answered yet. When an answer breaks off, the connection to the client does.
func (p *forwarding) send(patience context.Context) error {
	h := p.server
	ctx, drop := context.WithCancelCause(p.c.Request.Context())
	beginsInTime := context.AfterFunc(patience, func() { drop(errNoAnswer) })
	defer beginsInTime()
	if p.streams {
		defer context.AfterFunc(h.Ending, func() { drop(errServerEnds) })()
	}
	var watch sync.WaitGroup
	watch.Go(func() { p.watch(ctx, drop) })
	defer watch.Wait()
	defer drop(nil)

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
			out.Out.URL.RawQuery = out.In.URL.RawQuery // wrong ones too: the leader says what is wrong
			out.Out.Header.Del("Origin")               // was checked here
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
				beginsInTime()
			}
			for name := range answer.Header {
				p.c.Writer.Header().Del(name) // the leader's word counts
			}
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) { p.failed = p.failure(ctx, err) },
		ErrorLog:     slog.NewLogLogger(h.Log.Handler(), slog.LevelDebug),
	}
	proxy.ServeHTTP(h.Answers.Patient(p.c.Writer), request)
	return p.failed
}

// watch cancels the request when the lead has changed.
func (p *forwarding) watch(ctx context.Context, drop context.CancelCauseFunc) {
	tick := time.NewTicker(leaderLook)
	defer tick.Stop()
	var grace <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-grace:
			drop(errOtherLeads)
			return
		case <-tick.C:
			switch {
			case grace != nil || !p.server.otherLeads(p.address):
			case p.sent.Load() && !failure.IsRead(p.c.Request.Method):
				grace = time.After(p.server.LastAnswer)
			default:
				drop(errOtherLeads)
				return
			}
		}
	}
}

// refusedToken is why the leader refuses a token that this server took, if it does.
func (p *forwarding) refusedToken(answer *http.Response) error {
	if answer.StatusCode != http.StatusUnauthorized || caller.Of(p.c.Request.Context()).Kind != auth.TokenFile {
		return nil
	}
	p.server.Log.Error("token refused by the leader, accepted by this server: give all servers the same --api-token-file", "leader", p.address)
	return failure.NotBegun("token_differs", "this server takes the token, and the leader at %s does not: their --api-token-file must hold the same token", p.address)
}

// whoLeads is the address to forward a request to, or why there is none.
func (h *Forwarder) whoLeads(r *http.Request) (string, error) {
	if from := r.Header.Get(admission.ForwardedBy); from != "" {
		return "", failure.NotBegun("not_leading", "the server at %s took this one for the leader, which it is not: try again",
			failure.Quoted(from))
	}
	leader, ok := h.Scheduler.Leader()
	switch {
	case !ok:
		return "", failure.NotBegun("no_leader", "nobody leads now: try again. The last that this server knows: %s",
			cmp.Or(h.Scheduler.Health().Detail, "waiting for an election"))
	case leader.Self || leader.Address == h.Advertise:
		return "", failure.NotBegun("not_leading",
			"the leader's address is this server's own, %s, and this server does not lead: it is just taking over or giving up the lead, or an earlier run of it led a moment ago: try again. If that lasts, another server has the same --advertise", h.Advertise)
	}
	return leader.Address, nil
}

// failure says what it means that the leader gave no answer. Only a write that may have reached it is in doubt.
func (p *forwarding) failure(ctx context.Context, err error) error {
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
			"the leader at %s did not answer, and the change may have been done: look before you send it again (%v)",
			p.address, err)
	case errors.Is(err, errOtherLeads), errors.Is(err, errServerEnds):
		return err
	case errors.Is(err, errNoAnswer) && read:
		return failure.Unavailable("timeout",
			"the leader at %s did not answer within %s: try again; if that lasts, look whether it still runs: another server takes its place when it has lost the lead", p.address, p.server.ForwardTimeout)
	}
	return failure.NotBegun("leader_unreachable",
		"the leader at %s gave no answer: try again; if that lasts, look at the leader's --advertise (%v)", p.address,
		err)
}
