// Package forward forwards requests from a follower to the leader.
package forward

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/answer"
	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/certificate"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/api/route"
	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/scheduler"
)

// Options are the dependencies of a Forwarder.
type Options struct {
	Log       *slog.Logger
	Answers   *answer.Writer
	Scheduler interface {
		Leader() (scheduler.LeaderView, bool)
		Health() scheduler.Health
	}
	// Proof returns the headers that prove to the leader that a server of the cluster forwards the request.
	Proof func(r *http.Request) (http.Header, error)
	// TLS, if not nil, makes connections to the leader use TLS.
	TLS *certificate.Keeper
	// Advertise is the host:port under which others reach this server.
	Advertise string
	// ForwardTimeout bounds a forwarded request. If its handler writes the answer itself (route.Route.Raw),
	// ForwardTimeout bounds the time until the answer begins.
	ForwardTimeout time.Duration
	// AnswerGrace is how long a forwarded write still waits for its answer after the leader has lost the leadership.
	AnswerGrace time.Duration
	// ShuttingDown is done when this server begins to shut down. Answers that handlers write themselves then end.
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

// LeaderOnly returns a handler that calls work on the leader and forwards the request on a follower. Followers call
// work for a local route too, unless the route shows a caller only the apps of the grant (route.ScopeByApp) and the
// grant is for some apps: only the leader knows which jobs belong to these apps.
func (h *Forwarder) LeaderOnly(r route.Route, work gin.HandlerFunc) gin.HandlerFunc {
	if r.Local && r.Scope != route.ScopeByApp {
		return work
	}
	return func(c *gin.Context) {
		if h.Scheduler.Health().Leading || r.Local && !caller.Of(c.Request.Context()).IsRestricted() {
			work(c)
			return
		}
		isRaw := r.Raw != nil
		h.Forward(c, work, isRaw)
	}
}

var (
	errLeaderChanged = errors.New("another server has become the leader")
	errNoAnswer      = errors.New("no answer in time")
)

// Forward answers with the leader's answer. If the leader changes meanwhile, Forward sends the request to the next
// leader, unless it is a write that the former leader may have received. If the next leader is this server, Forward
// calls work instead. Forwarding takes at most Options.ForwardTimeout; a request that fetches a package has more time.
// isRaw says that the handler writes the answer itself (route.Route.Raw). Then the time limits only the beginning of
// the answer.
func (h *Forwarder) Forward(c *gin.Context, work gin.HandlerFunc, isRaw bool) {
	// The whole body is read first, so that a client that disconnects in the middle of it changes nothing.
	body, err := request.WholeBody(c.Request)
	if err != nil {
		h.Answers.Fail(c.Writer, c.Request, err)
		return
	}
	if isRaw {
		answer.ExcludeFromMetrics(c)
		_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Time{}) // the request has been read
	}
	if request.FetchesPackage(c) {
		request.ExtendDeadlines(c)
	}
	limited, cancel := context.WithTimeout(c.Request.Context(), request.Timeout(c, h.ForwardTimeout))
	defer cancel()
	for address := ""; ; {
		var self bool
		address, self, err = h.nextLeader(limited, c.Request, address)
		if self {
			cancel()
			c.Request.Body = io.NopCloser(bytes.NewReader(body))
			work(c)
			return
		}
		if err != nil {
			break
		}
		a := attempt{forwarder: h, c: c, address: address, body: body, isRaw: isRaw}
		err = a.send(limited)
		mayRepeat := failure.IsRead(c.Request.Method) || !a.sent.Load()
		if err == nil || !mayRepeat || limited.Err() != nil || !h.otherLeads(address) {
			break
		}
	}
	if err != nil {
		h.Answers.Fail(c.Writer, c.Request, clientError(err))
	}
}

// clientError returns the error for the client after the last attempt has ended with err. errLeaderChanged ends only
// attempts that have changed nothing. If no other attempt follows, because there was no other leader or the time was
// over, the client gets errNoNext.
func clientError(err error) error {
	if errors.Is(err, errLeaderChanged) {
		return errNoNext
	}
	return err
}

var (
	errNoNext       error = failure.Unchanged("no_leader", "the leader is changing: try again")
	errShuttingDown error = failure.Unchanged("leader_unreachable",
		"this server is shutting down: send the request to another one")
)

// attempt is one attempt to forward a request to one leader.
type attempt struct {
	forwarder *Forwarder
	c         *gin.Context
	address   string
	body      []byte
	isRaw     bool        // see Forward
	sent      atomic.Bool // there was a connection, so the leader may have received the request
	err       error       // why the attempt failed
}

// send forwards the request and passes the leader's answer to the client. If send returns an error, the client has
// received nothing yet: there was no answer, or it showed that the two servers have different settings. If the answer
// breaks off, send breaks off the client's connection. limited ends when the time for forwarding is over.
func (a *attempt) send(limited context.Context) error {
	h := a.forwarder
	ctx, cancel := context.WithCancelCause(a.c.Request.Context())
	stopTimeout := context.AfterFunc(limited, func() { cancel(errNoAnswer) })
	defer stopTimeout()
	if a.isRaw {
		defer context.AfterFunc(h.ShuttingDown, func() { cancel(errShuttingDown) })()
	}
	var watch sync.WaitGroup
	watch.Go(func() { a.watch(ctx, cancel) })
	defer watch.Wait()
	defer cancel(nil)

	r := a.c.Request.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { a.sent.Store(true) },
	}))
	headers, err := h.Proof(r)
	if err != nil {
		return err
	}
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(a.body)), int64(len(a.body)), nil
	transport := h.transports.reads
	if !failure.IsRead(r.Method) {
		transport = h.transports.writes
	}
	proxy := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite: func(out *httputil.ProxyRequest) {
			out.Out.URL.Scheme, out.Out.URL.Host, out.Out.Host = h.transports.scheme, a.address, a.address
			out.Out.URL.RawQuery = out.In.URL.RawQuery // an invalid query too: the leader reports what is wrong
			out.Out.Header.Del("Origin")               // this server has checked it
			maps.Copy(out.Out.Header, headers)
		},
		ModifyResponse: func(response *http.Response) error {
			if err := a.checkLeaderSpeaksPlain(response); err != nil {
				return err
			}
			if err := a.checkTokenAccepted(response); err != nil {
				return err
			}
			if a.isRaw {
				stopTimeout()
			}
			for name := range response.Header {
				a.c.Writer.Header().Del(name) // the leader's value replaces this server's
			}
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) { a.err = a.failure(ctx, err) },
		ErrorLog:     slog.NewLogLogger(h.Log.Handler(), slog.LevelDebug),
	}
	proxy.ServeHTTP(h.Answers.Stream(a.c.Writer), r)
	return a.err
}

// watch cancels the request when another server has become the leader. If the request is a write that the old leader
// may have received, watch cancels it only after AnswerGrace.
func (a *attempt) watch(ctx context.Context, cancel context.CancelCauseFunc) {
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
			case grace != nil || !a.forwarder.otherLeads(a.address):
			case a.sent.Load() && !failure.IsRead(a.c.Request.Method):
				grace = time.After(a.forwarder.AnswerGrace)
			default:
				cancel(errLeaderChanged)
				return
			}
		}
	}
}

// checkTokenAccepted returns an error if the leader refuses a token that this server accepted. Then the token files of
// the two servers differ.
func (a *attempt) checkTokenAccepted(response *http.Response) error {
	if response.StatusCode != http.StatusUnauthorized || caller.Of(a.c.Request.Context()).Kind != auth.TokenFile {
		return nil
	}
	a.forwarder.Log.Error("token refused by the leader, although this server accepts it: their --api-token-file must hold the same token",
		"leader", a.address)
	return failure.Unchanged("token_differs",
		"this server accepts the token, and the leader at %s does not: their --api-token-file must hold the same token",
		a.address)
}

// failure returns the error for the client after a failed attempt. err is the error of the proxy. The outcome is
// unknown only for a write that the leader may have received.
func (a *attempt) failure(ctx context.Context, err error) error {
	if errors.As(err, new(*failure.Failure)) {
		return err
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if f := a.tlsFailure(err); f != nil && !a.sent.Load() {
		return f
	}
	isRead := failure.IsRead(a.c.Request.Method)
	switch {
	case a.sent.Load() && !isRead:
		return failure.Unavailable("outcome_unknown",
			"the leader at %s did not answer, and the change may have been done: check before you send it again (%v)",
			a.address, err)
	case errors.Is(err, errLeaderChanged), errors.Is(err, errShuttingDown):
		return err
	case errors.Is(err, errNoAnswer) && isRead:
		return failure.Unavailable("timeout",
			"the leader at %s did not answer within %s: try again; if that lasts, check whether that server still runs and is not overloaded. Another server takes over once it has lost the leadership",
			a.address, a.forwarder.ForwardTimeout)
	}
	return failure.Unchanged("leader_unreachable",
		"the leader at %s gave no answer: try again; if that lasts, check the leader's --advertise (%v)", a.address,
		err)
}
