package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
)

// passedOn is a header that a follower adds, with its own address, so that no
// request goes round in circles.
const passedOn = "X-Elasticjob-Passed-On"

// dialLeader bounds how long a follower tries to reach the leader.
const dialLeader = 2 * time.Second

// messengers carry requests to the leader. Those that change something have a
// connection of their own: on one that was used before, Go's transport may send again what
// broke, and a follower never repeats a write (rule T3).
type messengers struct{ reads, writes *http.Transport }

func newMessengers() messengers {
	dialer := &net.Dialer{Timeout: dialLeader, KeepAlive: 15 * time.Second}
	reads := &http.Transport{
		DialContext: dialer.DialContext, DisableCompression: true,
		MaxIdleConnsPerHost: 32, IdleConnTimeout: 30 * time.Second,
	}
	writes := reads.Clone()
	writes.DisableKeepAlives = true
	return messengers{reads: reads, writes: writes}
}

func (m messengers) close() {
	m.reads.CloseIdleConnections()
	m.writes.CloseIdleConnections()
}

// led does a route's work where this server leads, and else passes the request on
// to the leader.
func (s *Server) led(r route, work gin.HandlerFunc) gin.HandlerFunc {
	if r.local {
		return work
	}
	return func(c *gin.Context) {
		if s.opts.Scheduler.Health().Leading {
			work(c)
			return
		}
		s.passOn(c, r)
	}
}

// passOn answers with what the leader answers.
func (s *Server) passOn(c *gin.Context, r route) {
	address, err := s.whoLeads(c.Request)
	var body []byte
	if err == nil {
		// Whole, before anything is sent: it is small, and so a client that breaks off changes nothing.
		if body, err = io.ReadAll(c.Request.Body); err != nil && !errors.As(err, new(*http.MaxBytesError)) {
			err = badRequest("body_incomplete", "the body did not arrive whole: %v", err)
		}
	}
	if err != nil {
		fail(c.Writer, c.Request, s.log, err)
		return
	}
	ctx, cancel := s.passingTime(c, r)
	defer cancel()
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	request := c.Request.WithContext(ctx)
	request.Body, request.ContentLength, request.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil

	transport := s.messengers.reads
	if !isRead(request.Method) {
		transport = s.messengers.writes
	}
	proxy := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host, p.Out.Host = "http", address, address
			p.Out.URL.RawQuery = p.In.URL.RawQuery // wrong ones too: the leader says what is wrong
			p.Out.Header.Del("Origin")             // was looked at here
			p.Out.Header.Set(passedOn, cmp.Or(s.opts.Advertise, "unknown"))
		},
		ModifyResponse: func(answer *http.Response) error {
			for name := range answer.Header {
				c.Writer.Header().Del(name) // the leader's word counts
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			fail(w, r, s.log, passingFailure(r, address, sent.Load(), err))
		},
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	proxy.ServeHTTP(&patientWriter{ResponseWriter: c.Writer, line: http.NewResponseController(c.Writer)}, request)
}

// whoLeads is the address to pass a request on to, or why there is none.
func (s *Server) whoLeads(r *http.Request) (string, error) {
	notNow := func(code, format string, args ...any) (string, error) {
		return "", &failure{status: http.StatusServiceUnavailable, code: code, message: fmt.Sprintf(format, args...)}
	}
	if from := r.Header.Get(passedOn); from != "" {
		return notNow("not_leading", "the server at %s took this one for the leader, which it is not; nothing was changed: try again", quoted(from))
	}
	leader, ok := s.opts.Scheduler.Leader()
	switch {
	case !ok:
		return notNow("no_leader", "nobody leads now, nothing was changed: try again. Here: %s", cmp.Or(s.opts.Scheduler.Health().Detail, "waiting for an election"))
	case leader.Self || leader.Address == s.opts.Advertise:
		return notNow("not_leading", "this server is just taking over or giving up the lead, nothing was changed: try again; if that lasts, another server has its address, %s, by --advertise", s.opts.Advertise)
	}
	return leader.Address, nil
}

// passingTime bounds how long a request may be under way to the leader, who has bounds of
// his own: output may be followed until this server ends, anything else takes little
// longer than here.
func (s *Server) passingTime(c *gin.Context, r route) (context.Context, context.CancelFunc) {
	if r.raw == nil {
		return context.WithTimeout(c.Request.Context(), s.opts.RequestTimeout+dialLeader)
	}
	c.Set(unmeasured, true)
	_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Time{}) // it is read already
	ctx, cancel := context.WithCancel(c.Request.Context())
	stop := context.AfterFunc(s.ending, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// passingFailure says what it means that the leader gave no answer. Only a
// write that may have reached him is in doubt.
func passingFailure(r *http.Request, address string, sent bool, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && (sent || isRead(r.Method)) {
		return err
	}
	if sent && !isRead(r.Method) {
		return &failure{status: http.StatusServiceUnavailable, code: "outcome_unknown", message: fmt.Sprintf(
			"the connection to the leader at %s broke, and the change may have been done: look before you send it again (%v)", address, err)}
	}
	return &failure{status: http.StatusServiceUnavailable, code: "leader_unreachable", message: fmt.Sprintf(
		"the leader at %s gave no answer, nothing was changed: try again; if that lasts, look at the leader's --advertise (%v)", address, err)}
}

// patientWriter gives the client some time for each piece of an answer, however
// long all of it takes.
type patientWriter struct {
	http.ResponseWriter
	line *http.ResponseController
}

func (w *patientWriter) Write(b []byte) (int, error) {
	_ = w.line.SetWriteDeadline(time.Now().Add(logStall))
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController flush what is below.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
