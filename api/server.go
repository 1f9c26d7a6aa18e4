package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/elasticjob-go/elasticjob/api/access"
	"github.com/elasticjob-go/elasticjob/api/admission"
	"github.com/elasticjob-go/elasticjob/api/answer"
	"github.com/elasticjob-go/elasticjob/api/apps"
	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/certificate"
	"github.com/elasticjob-go/elasticjob/api/descriptors"
	"github.com/elasticjob-go/elasticjob/api/documents"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/api/forward"
	"github.com/elasticjob-go/elasticjob/api/history"
	"github.com/elasticjob-go/elasticjob/api/limit"
	"github.com/elasticjob-go/elasticjob/api/logs"
	"github.com/elasticjob-go/elasticjob/api/metrics"
	"github.com/elasticjob-go/elasticjob/api/pages"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/api/route"
	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/internal/document"
)

// Options are the dependencies and the timeouts of a Server. A zero timeout means the default.
type Options struct {
	Scheduler Scheduler
	Logs      logs.Files
	// History reads recorded data. If it is nil, the routes that require it answer 503 no_history.
	History history.History
	// Artifact returns the path of the file for /artifacts/{name}. Its content must never change. If there is no such
	// file, the request is forwarded to the leader. It may be nil.
	Artifact func(name string) (file string, ok bool)
	Logger   *slog.Logger
	// Access authenticates callers and manages users and tokens. If it is nil, only public routes are served.
	Access access.Access
	// TLS, if not nil, makes all TCP connections of clients and to the leader use TLS. Plain HTTP is then not served
	// over TCP.
	TLS *certificate.Keeper
	// Proofs signs and verifies the headers with which a follower forwards a request. If it is nil, this server does
	// not sign these headers, and ignores those that it receives.
	Proofs admission.Proofs
	// OpenID is the provider whose users may log in; nil if there is none. Issuer issues login tokens for these users.
	OpenID access.OpenID
	Issuer access.Issuer
	// AgentURL is the URL under which agents reach this server, without a path.
	AgentURL string
	// FrameworkName is the name under which the cluster knows this scheduler.
	FrameworkName string
	// Advertise is the host:port under which others reach this server. While no login is required, its host may be in
	// the header Host.
	Advertise string
	// Console serves the web console. It may be nil.
	Console pages.Console
	// Packages fetches packages to check them. It may be nil.
	Packages apps.Packages
	// RegistryRoot is the prefix that the registry's paths have in ZooKeeper, such as "/elasticjob-cloud". It is ""
	// without ZooKeeper.
	RegistryRoot string
	// Warning returns a problem that requires an operator's attention although the server works, or "". /healthz and
	// /readyz show it. It may be nil.
	Warning func() string
	// AllowFile accepts apps with file URLs. It may be set only if all jobs run on this machine.
	AllowFile bool
	// PodTemplate returns all violations in the podTemplate of an app, on a cluster that runs each shard in its own
	// pod. It is nil on other clusters; there the fields about containers are refused.
	PodTemplate func(template []byte) document.Violations
	// ExampleImage is the image of the example, on a cluster whose jobs run in images. If it is "", the example is a
	// package, which agents fetch from AgentURL.
	ExampleImage string
	// Version is shown on the front page and by /healthz.
	Version string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// HistoryStats is called at each scrape of /metrics and must not block. It may be nil.
	HistoryStats func() metrics.HistoryStats
	// Throttled returns how many requests of this process the Kubernetes API server has throttled (status 429). It
	// must not block. It may be nil.
	Throttled func() int64
	// Zone is the time zone of the crons of jobs without a time zone; nil means UTC.
	Zone *time.Location

	// RequestTimeout bounds a request that does not follow output or events. Default 30 s.
	RequestTimeout time.Duration
	// ForwardTimeout bounds a forwarded request; for a stream it bounds the time until the answer begins. Default 15
	// s, which is less than most clients wait.
	ForwardTimeout time.Duration
	// AnswerGrace is how long a forwarded write still waits for its answer after the leader has lost the leadership.
	// Default 500 ms. That server usually has the answer already, and any answer is better than an unknown outcome.
	AnswerGrace time.Duration
	// ShutdownGrace is how long Serve waits for open requests when it shuts down. Default 10 s.
	ShutdownGrace time.Duration
	// WriteTimeout is how long a client may take to read one piece of a streamed answer. Default 1 min.
	WriteTimeout time.Duration
	// MaxStreams bounds the event streams, and separately the answers that follow output. One user or token may have a
	// quarter of each, but at least four. Default 1000.
	MaxStreams int
	// Descriptors reports whether this process has file descriptors left. If it is not nil, Serve's listeners must be
	// listeners of this reserve.
	Descriptors *descriptors.Reserve
	// FollowInterval is the interval at which an answer asks the agent for more output, when there was none. Default
	// 200 ms.
	FollowInterval time.Duration
}

// Server is the REST API. It is an http.Handler; Serve runs it on a listener.
type Server struct {
	opts          Options
	log           *slog.Logger
	engine        *gin.Engine
	table         []route.Route
	byPath        map[string]route.Route // by router path: any of the routes with this path
	rules         map[string]route.Rule  // by method and router path
	reservedNames map[string][]string    // by path variable

	answers   *answer.Writer
	admission *admission.Admission
	forwarder *forward.Forwarder
	access    *access.Handlers
	pages     *pages.Handlers
	faulty    documents.Faulty

	metrics       http.Handler
	durations     *prometheus.HistogramVec
	refusals      refusals
	eventStreams  *limit.Streams
	outputStreams *limit.Streams

	shuttingDown  context.Context // done when the server begins to shut down
	beginShutdown context.CancelFunc
	inFlight      sync.WaitGroup
}

// quietRouter replaces gin's default mode, which prints every route to standard output. The mode belongs to the whole
// process; this package sets no other global state.
var quietRouter = sync.OnceFunc(func() { gin.SetMode(gin.ReleaseMode) })

// New returns a Server. It starts nothing.
func New(opts Options) *Server {
	quietRouter()
	opts.RequestTimeout = cmp.Or(opts.RequestTimeout, 30*time.Second)
	opts.ForwardTimeout = cmp.Or(opts.ForwardTimeout, 15*time.Second)
	opts.AnswerGrace = cmp.Or(opts.AnswerGrace, 500*time.Millisecond)
	opts.ShutdownGrace = cmp.Or(opts.ShutdownGrace, 10*time.Second)
	opts.FollowInterval = cmp.Or(opts.FollowInterval, 200*time.Millisecond)
	opts.WriteTimeout = cmp.Or(opts.WriteTimeout, time.Minute)
	opts.MaxStreams = cmp.Or(opts.MaxStreams, 1000)
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Warning == nil {
		opts.Warning = func() string { return "" }
	}
	if opts.Artifact == nil {
		opts.Artifact = func(string) (string, bool) { return "", false }
	}
	s := &Server{opts: opts, log: opts.Logger, engine: gin.New(), byPath: map[string]route.Route{},
		rules: map[string]route.Rule{}, answers: answer.NewWriter(opts.Logger, opts.WriteTimeout),
		eventStreams: limit.NewStreams("events"), outputStreams: limit.NewStreams("output")}
	s.shuttingDown, s.beginShutdown = context.WithCancel(context.Background())
	metricOptions := metrics.Options{Version: opts.Version, Stats: opts.Scheduler.Stats,
		OpenStreams: s.eventStreams.Count, HistoryStats: opts.HistoryStats, Throttled: opts.Throttled}
	if opts.TLS != nil {
		metricOptions.NotAfter = opts.TLS.NotAfter
	}
	s.metrics, s.durations = metrics.New(metricOptions)
	s.faulty = documents.Faulty{Scheduler: opts.Scheduler, RegistryRoot: opts.RegistryRoot}
	s.access = access.New(access.Options{Log: s.log, Answers: s.answers, Access: opts.Access, OpenID: opts.OpenID,
		Issuer: opts.Issuer, RequestTimeout: opts.RequestTimeout})
	s.pages = pages.New(pages.Options{Answers: s.answers, Console: opts.Console, Version: opts.Version,
		State: s.access.State})
	s.admission = admission.New(admission.Options{Answers: s.answers, Access: opts.Access, State: s.access.State,
		Proofs: opts.Proofs, Advertise: opts.Advertise, RuleOf: s.ruleOf})
	s.forwarder = forward.New(forward.Options{Log: s.log, Answers: s.answers, Scheduler: opts.Scheduler,
		Proof: s.admission.ForwardHeaders, TLS: opts.TLS, Advertise: opts.Advertise,
		ForwardTimeout: opts.ForwardTimeout,
		AnswerGrace:    opts.AnswerGrace, ShuttingDown: s.shuttingDown})
	s.table = s.routes()
	s.reservedNames = map[string][]string{"appName": route.ReservedNames(s.table, "appName"),
		"jobName": route.ReservedNames(s.table, "jobName")}

	s.engine.RedirectTrailingSlash, s.engine.RedirectFixedPath = false, false
	s.engine.HandleMethodNotAllowed = true
	// The router splits the path before it decodes variables, so that a name may contain any character.
	// request.PathValue decodes them, because gin's own decoding turns + into a space.
	s.engine.UseEscapedPath, s.engine.UnescapePathValues = true, false
	s.engine.ForwardedByClientIP = false
	_ = s.engine.SetTrustedProxies(nil) // fails only for invalid addresses
	s.engine.Use(s.observe, s.recover, s.admission.VerifyForwarded, s.admission.Admit)
	s.engine.NoRoute(s.noRoute)
	s.engine.NoMethod(s.noMethod)
	s.register(s.table)
	return s
}

// ServeHTTP answers one request. A trailing slash in its path makes no difference.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.inFlight.Add(1)
	defer s.inFlight.Done()
	if path := r.URL.EscapedPath(); len(path) > 1 && strings.HasSuffix(path, "/") {
		u := *r.URL
		u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/"), strings.TrimSuffix(u.RawPath, "/")
		r = r.WithContext(r.Context())
		r.URL = &u
	}
	if r.Body != nil {
		// The bounded body goes into a copy of the request, because net/http handles the unread rest of a body by the
		// type of the original request's Body.
		r = r.WithContext(r.Context())
		r.Body = request.BoundBody(w, r)
	}
	s.engine.ServeHTTP(w, r)
}

// Serve answers requests on l until ctx ends. Then it ends streams, and waits up to ShutdownGrace for all other
// requests. It returns nil if no request had to be cut off, and an error if l fails before ctx ends. It closes l. Serve
// and ServeSocket may each be called once. While there are no users, a listener that other machines can reach serves
// only public routes.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	tcp, ok := l.Addr().(*net.TCPAddr)
	reachable := ok && !tcp.IP.IsLoopback()
	if reachable && s.access.State() == auth.Empty {
		s.log.Warn("no users yet: this address serves only health and artifacts until a user is created with scheduler user add NAME --role admin and the --registry, --zk, --zk-namespace or --data-dir that this server has",
			"address", l.Addr().String())
	}
	return s.serve(ctx, l, func(ctx context.Context, _ net.Conn) context.Context {
		return caller.WithReachable(ctx, reachable)
	})
}

// serve is Serve. connContext adds values to the context of a connection's requests.
func (s *Server) serve(ctx context.Context, l net.Listener,
	connContext func(context.Context, net.Conn) context.Context) error {
	defer s.forwarder.Close()
	requests, cutOff := context.WithCancel(context.WithoutCancel(ctx))
	defer cutOff()
	server := &http.Server{
		Handler:     descriptors.Handler(s),
		BaseContext: func(net.Listener) context.Context { return requests },
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return descriptors.Context(connContext(ctx, conn), conn)
		},
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		WriteTimeout:      2 * time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	accept := server.Serve
	if s.opts.TLS != nil && l.Addr().Network() == "tcp" {
		server.TLSConfig = s.opts.TLS.Server()
		accept = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
	}
	served := make(chan error, 1)
	go func() { served <- accept(l) }()

	select {
	case err := <-served:
		s.beginShutdown()
		cutOff()
		_ = server.Close()
		s.inFlight.Wait()
		return fmt.Errorf("serve the API on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	s.beginShutdown()
	grace, done := context.WithTimeout(context.WithoutCancel(ctx), s.opts.ShutdownGrace)
	defer done()
	err := server.Shutdown(grace)
	if err != nil {
		cutOff()
		err = fmt.Errorf("the API's requests did not end within %s and were cut off: %w", s.opts.ShutdownGrace,
			errors.Join(err, server.Close()))
	}
	s.inFlight.Wait()
	<-served
	return err
}

// recover answers a request whose handler has panicked with status 500. If an answer has already begun, it breaks off
// the connection instead, so that the client does not take the partial answer for complete.
func (s *Server) recover(c *gin.Context) {
	defer func() {
		fault := recover()
		if fault == nil {
			return
		}
		if fault != http.ErrAbortHandler {
			id := uuid.NewString()
			s.log.ErrorContext(c.Request.Context(), "request panicked", "id", id, "method", c.Request.Method,
				"path", answer.LoggedPath(c.Request), "panic", fault, "stack", string(debug.Stack()))
			if !c.Writer.Written() {
				answer.JSON(c.Writer, http.StatusInternalServerError, failure.Internal(id).Body())
				return
			}
		}
		panic(http.ErrAbortHandler)
	}()
	c.Next()
}

func (s *Server) noRoute(c *gin.Context) {
	if s.pages.OpensConsole(c.Request) {
		s.pages.Page(c)
		return
	}
	hint := "GET / says what there is, docs/api.md has all routes"
	if near := route.Nearest(s.table, c.Request.Method, c.Request.URL.Path); near != nil {
		hint = fmt.Sprintf("did you mean %s %s?", near.Method, near.Path)
	}
	s.answers.Fail(c.Writer, c.Request, failure.NotFound("no_route", "there is no route %s %s; %s", c.Request.Method,
		failure.Quoted(c.Request.URL.Path), hint))
}

func (s *Server) noMethod(c *gin.Context) {
	s.answers.Fail(c.Writer, c.Request, failure.New(http.StatusMethodNotAllowed, "method_not_allowed",
		"%s is not a method of %s; allowed are %s", c.Request.Method, failure.Quoted(c.Request.URL.Path),
		c.Writer.Header().Get("Allow")))
}

func (s *Server) artifact(c *gin.Context) {
	file, ok := s.opts.Artifact(c.Param("name"))
	switch {
	case ok:
		conn := http.NewResponseController(c.Writer)
		_ = conn.SetReadDeadline(time.Time{})
		_ = conn.SetWriteDeadline(time.Now().Add(time.Hour)) // the file is large, and the connection may be slow
		c.Header("Content-Type", "application/octet-stream")
		c.Header("Cache-Control", "public, immutable, max-age=31536000")
		http.ServeFile(c.Writer, c.Request, file)
	case c.GetHeader(admission.ForwardedBy) == "" && !s.opts.Scheduler.Health().Leading:
		s.forwarder.Forward(c, s.artifact, true)
	default:
		s.answers.Fail(c.Writer, c.Request, failure.NotFound("artifact_not_found",
			"there is no artifact %s here: the server that made it has it below its --data-dir, in the folder artifacts",
			failure.Quoted(c.Param("name"))))
	}
}
