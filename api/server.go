package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// Options are what a Server needs, and its times; a zero time means the default.
type Options struct {
	Scheduler Scheduler
	Logs      Logs
	// History, if not nil, is what was recorded; without it the routes that need it answer 503 no_history.
	History History
	// Artifact finds the file of /artifacts/{name}, whose content never changes; when it has none the leader is asked. Nil has none.
	Artifact func(name string) (file string, ok bool)
	Logger   *slog.Logger
	// Token, if not empty, is what every request must bring as Authorization: Bearer, but those
	// for health, artifacts and the front page. Without it, loopback addresses alone are served.
	Token string
	// Advertise is the host:port at which others find this server; it is allowed as Host.
	Advertise string
	// RegistryRoot is what stands before the registry's own paths where people look at them, such as
	// "/elasticjob-cloud"; empty without ZooKeeper.
	RegistryRoot string
	// Warning says what an operator should look at though work goes on, for /healthz and /readyz; nil for nothing.
	Warning func() string
	// AllowFile accepts apps with file URLs: everything runs on this machine.
	AllowFile bool
	// Version is shown on the front page and by /healthz.
	Version string
	// Now decides whether a cron still fires; nil is time.Now.
	Now func() time.Time
	// HistoryStats, if not nil, is asked at each scrape of /metrics. It must not wait.
	HistoryStats func() HistoryStats
	// Zone is that of crons whose job names none; nil is UTC.
	Zone *time.Location

	// RequestTimeout bounds a request that does not follow output. Default 30 s.
	RequestTimeout time.Duration
	// ForwardTimeout bounds a request that is forwarded to the leader, one that streams until its
	// answer begins. Default 15 s, less than clients usually wait.
	ForwardTimeout time.Duration
	// LastAnswer is how long a former leader may take to answer a change that it was sent while it led. Default
	// 500 ms: it usually has the answer, and an answer is better than none.
	LastAnswer time.Duration
	// ShutdownGrace is how long Serve waits for requests at its end. Default 10 s.
	ShutdownGrace time.Duration
	// FollowEvery is how often the agent is asked for more output. Default 200 ms.
	FollowEvery time.Duration
}

// Server is the REST API: an http.Handler, and Serve to run it on a listener.
type Server struct {
	opts   Options
	log    *slog.Logger
	engine *gin.Engine
	table  []route
	byPath map[string]route // one of the routes of each of the router's paths
	names  map[string][]string
	apps   documents[app.Config, core.AppView]
	jobs   documents[jobs.Config, core.JobView]

	transports leaderTransports

	metrics   http.Handler
	durations *prometheus.HistogramVec

	ending       context.Context // over at the beginning of the end
	endFollowers context.CancelFunc
	inFlight     sync.WaitGroup
}

// quietRouter takes gin's process-wide mode off its default, in which it prints
// every route to standard output. It is all that this package sets globally.
var quietRouter = sync.OnceFunc(func() { gin.SetMode(gin.ReleaseMode) })

// New makes a Server. It starts nothing.
func New(opts Options) *Server {
	quietRouter()
	opts.RequestTimeout = cmp.Or(opts.RequestTimeout, 30*time.Second)
	opts.ForwardTimeout = cmp.Or(opts.ForwardTimeout, 15*time.Second)
	opts.LastAnswer = cmp.Or(opts.LastAnswer, 500*time.Millisecond)
	opts.ShutdownGrace = cmp.Or(opts.ShutdownGrace, 10*time.Second)
	opts.FollowEvery = cmp.Or(opts.FollowEvery, 200*time.Millisecond)
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
	s := &Server{opts: opts, log: opts.Logger, engine: gin.New(), byPath: map[string]route{},
		transports: newLeaderTransports()}
	s.ending, s.endFollowers = context.WithCancel(context.Background())
	s.metrics, s.durations = newMetrics(opts)
	s.apps, s.jobs = s.newApps(), s.newJobs()
	s.table = s.routes()
	s.names = map[string][]string{"appName": reservedNames(s.table, "appName"), "jobName": reservedNames(s.table, "jobName")}

	s.engine.RedirectTrailingSlash, s.engine.RedirectFixedPath = false, false
	s.engine.HandleMethodNotAllowed = true
	// Variables are cut out of the path before they are decoded, so that a name may
	// hold any letter; pathValue decodes, as gin's own way takes + for a space.
	s.engine.UseEscapedPath, s.engine.UnescapePathValues = true, false
	s.engine.ForwardedByClientIP = false
	_ = s.engine.SetTrustedProxies(nil) // fails for addresses only, and there are none
	s.engine.Use(s.observe, s.recover, s.admit)
	s.engine.NoRoute(s.noRoute)
	s.engine.NoMethod(s.noMethod)
	s.register(s.table)
	return s
}

// reserved reports the names that the router's table takes [D05].
func (s *Server) reserved(variable string) func(name string) bool {
	return func(name string) bool { return slices.Contains(s.names[variable], name) }
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
		// In a copy: of the request that net/http holds, it decides by the body's type what to do with what was not read.
		r = r.WithContext(r.Context())
		r.Body = boundBody(w, r)
	}
	s.engine.ServeHTTP(w, r)
}

// Serve answers requests on l until ctx ends; then it ends those who follow
// output, waits for all others up to ShutdownGrace, and returns nil when none
// was cut off. It closes l. A Server serves once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if tcp, ok := l.Addr().(*net.TCPAddr); ok {
		if err := CheckListen(tcp.String(), s.opts.Token != ""); err != nil {
			return errors.Join(err, l.Close())
		}
	}
	defer s.transports.close()
	requests, cutOff := context.WithCancel(context.WithoutCancel(ctx))
	defer cutOff()
	server := &http.Server{
		Handler:           s,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		WriteTimeout:      2 * time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()

	select {
	case err := <-served:
		s.endFollowers()
		cutOff()
		_ = server.Close()
		s.inFlight.Wait()
		return fmt.Errorf("serve the API on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	s.endFollowers()
	grace, done := context.WithTimeout(context.WithoutCancel(ctx), s.opts.ShutdownGrace)
	defer done()
	err := server.Shutdown(grace)
	if err != nil {
		cutOff()
		err = fmt.Errorf("the API's requests did not end within %s and were cut off: %w", s.opts.ShutdownGrace, errors.Join(err, server.Close()))
	}
	s.inFlight.Wait()
	<-served
	return err
}

// unmeasured marks requests that last as long as their client likes.
const unmeasured = "unmeasured"

// observe logs and measures every request, by its route's template.
func (s *Server) observe(c *gin.Context) {
	begin := time.Now()
	defer func() {
		took := time.Since(begin)
		if !c.GetBool(unmeasured) {
			s.durations.WithLabelValues(methodLabel(c.Request.Method), s.template(c), fmt.Sprint(c.Writer.Status())).Observe(took.Seconds())
		}
		s.log.DebugContext(c.Request.Context(), "request", "method", c.Request.Method, "path", c.Request.URL.Path,
			"status", c.Writer.Status(), "bytes", max(0, c.Writer.Size()), "took", took, "remote", c.Request.RemoteAddr)
	}()
	c.Next()
}

func (s *Server) template(c *gin.Context) string {
	return cmp.Or(s.byPath[c.FullPath()].path, "none")
}

// methodLabel keeps what clients invent out of the metrics.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete:
		return method
	}
	return "other"
}

// recover turns a panic into an answer, or, too late for one, into a broken
// connection, so that nobody takes half an answer for a whole one.
func (s *Server) recover(c *gin.Context) {
	defer func() {
		fault := recover()
		if fault == nil {
			return
		}
		if fault != http.ErrAbortHandler {
			id := uuid.NewString()
			s.log.ErrorContext(c.Request.Context(), "request panicked", "id", id, "method", c.Request.Method,
				"path", c.Request.URL.Path, "panic", fault, "stack", string(debug.Stack()))
			if !c.Writer.Written() {
				writeJSON(c.Writer, http.StatusInternalServerError, internal(id).body())
				return
			}
		}
		panic(http.ErrAbortHandler)
	}()
	c.Next()
}

// admit lets a request in, or ends it here.
func (s *Server) admit(c *gin.Context) {
	h := c.Writer.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	err := s.checkOrigin(c.Request)
	if err == nil && !s.byPath[c.FullPath()].open {
		err = s.checkToken(c.Request)
	}
	if err == nil && c.Request.ContentLength > maxBody {
		err = errTooLarge
	}
	if err != nil {
		fail(c.Writer, c.Request, s.log, err)
		c.Abort()
	}
}

func (s *Server) noRoute(c *gin.Context) {
	hint := "GET / says what there is, docs/api.md has all routes"
	if near := nearestRoute(s.table, c.Request.Method, c.Request.URL.Path); near != nil {
		hint = fmt.Sprintf("did you mean %s %s?", near.method, near.path)
	}
	fail(c.Writer, c.Request, s.log, notFound("no_route", "there is no route %s %s; %s", c.Request.Method, quoted(c.Request.URL.Path), hint))
}

func (s *Server) noMethod(c *gin.Context) {
	fail(c.Writer, c.Request, s.log, failed(http.StatusMethodNotAllowed, "method_not_allowed",
		"%s is not a method of %s; allowed are %s", c.Request.Method, quoted(c.Request.URL.Path), c.Writer.Header().Get("Allow")))
}

func (s *Server) artifact(c *gin.Context) {
	file, ok := s.opts.Artifact(c.Param("name"))
	switch {
	case ok:
		line := http.NewResponseController(c.Writer) // large files over slow lines
		_ = line.SetReadDeadline(time.Time{})
		_ = line.SetWriteDeadline(time.Now().Add(time.Hour))
		c.Header("Content-Type", "application/octet-stream")
		c.Header("Cache-Control", "public, immutable, max-age=31536000")
		http.ServeFile(c.Writer, c.Request, file)
	case c.GetHeader(forwardedBy) == "" && !s.opts.Scheduler.Health().Leading:
		s.forward(c, s.artifact, true)
	default:
		fail(c.Writer, c.Request, s.log, notFound("artifact_not_found",
			"there is no artifact %s here: the server that made it has it below its --data-dir, in the folder artifacts", quoted(c.Param("name"))))
	}
}

type health struct {
	Status     string `json:"status"`
	Version    string `json:"version"`
	Leading    bool   `json:"leading"`
	Subscribed bool   `json:"subscribed"`
	Leader     string `json:"leader,omitempty"`
	Detail     string `json:"detail,omitempty"`
	Warning    string `json:"warning,omitempty"`
}

func (s *Server) health(status string) health {
	h := s.opts.Scheduler.Health()
	l, _ := s.opts.Scheduler.Leader()
	return health{Status: status, Version: s.opts.Version, Leading: h.Leading, Subscribed: h.Subscribed, Leader: l.Address, Detail: h.Detail, Warning: s.opts.Warning()}
}

// healthz says that the process answers.
func (s *Server) healthz(*gin.Context) (any, error) { return s.health("ok"), nil }

// readyz says whether it can do its work now: a leader, when the cluster's events
// come in, a follower, when there is a leader to forward requests to.
func (s *Server) readyz(*gin.Context) (any, error) {
	h := s.health("ready")
	follows := !h.Leading && h.Leader != "" && h.Leader != s.opts.Advertise
	if !follows && !(h.Leading && h.Subscribed) {
		return nil, unavailable("not_ready", "%s", cmp.Or(h.Detail, "the scheduler cannot do its work yet"))
	}
	return h, nil
}

// front is for the one who opens the address without knowing what is here.
func (s *Server) front(c *gin.Context) {
	c.Header("Content-Type", "text/plain; charset=utf-8")
	at := "http://" + c.Request.Host
	if s.opts.Token != "" {
		at = `-H "Authorization: Bearer $TOKEN" ` + at
	}
	_, _ = io.WriteString(c.Writer, strings.Join([]string{
		"ElasticJob " + s.opts.Version + ": a scheduler for batch jobs. This is its REST API; docs/api.md has all of it.",
		"",
		"curl " + at + "/api/app/list",
		"curl " + at + "/api/job/jobs",
		"curl -X POST " + at + "/api/job/my_job/trigger",
		"curl " + at + "/api/executions",
		"",
	}, "\n"))
}
