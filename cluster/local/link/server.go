package link

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster/local/apihttp"
)

const (
	// RegisterPath is the path of a master's Server.
	RegisterPath = "/agent/v1/register"
	// protocol is the protocol to which a registration upgrades its connection.
	protocol = "elasticjob-agent"
	// silenceHeader holds the time in seconds without any order after which the agent considers the session broken.
	silenceHeader = "Agent-Silence"
	// Realm is named in the challenge to agents without credentials.
	Realm = "local-cluster-agent"
)

// Server lets agents of other processes register with a master.
type Server struct {
	master  Upstream
	silence time.Duration
	log     *slog.Logger

	ctx  context.Context
	stop context.CancelFunc
	// open is held shared by sessions. Close locks it exclusively to wait for them.
	open sync.RWMutex
}

// NewServer returns a server for a master's agents. An agent considers its session broken if no order arrives for the
// time silence.
func NewServer(master Upstream, silence time.Duration, log *slog.Logger) *Server {
	s := &Server{master: master, silence: silence, log: log}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Close ends all sessions and waits until they have ended.
func (s *Server) Close() {
	s.stop()
	s.open.Lock() // a session that begins after this sees that the server is closed
	defer s.open.Unlock()
}

// ServeHTTP implements http.Handler for registrations, which are sent to RegisterPath. It returns when the session of
// the registration has ended.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.open.RLock()
	defer s.open.RUnlock()
	if s.ctx.Err() != nil {
		apihttp.Answer(w, http.StatusServiceUnavailable, "The master is closing")
		return
	}
	var registration Registration
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, apihttp.MaxBody)).Decode(&registration); err != nil {
		apihttp.Answer(w, http.StatusBadRequest, "Failed to read the registration: "+err.Error())
		return
	}
	session, err := s.master.Register(r.Context(), registration)
	if err != nil {
		status := http.StatusServiceUnavailable
		if errors.Is(err, ErrGone) {
			status = http.StatusForbidden
		}
		apihttp.Answer(w, status, err.Error())
		return
	}
	defer session.Close()
	if err := s.serve(w, session); err != nil && s.ctx.Err() == nil {
		s.log.Warn("session of an agent ended", "agent", registration.Agent.Of.GetID().GetValue(), "error", err)
	}
}

// serve exchanges orders and news until the session, the connection or the server ends.
func (s *Server) serve(w http.ResponseWriter, session Session) error {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return fmt.Errorf("take the connection over: %w", err)
	}
	var reading sync.WaitGroup
	defer reading.Wait()
	defer conn.Close()
	defer context.AfterFunc(s.ctx, func() {
		session.Close()
		_ = conn.Close() // a write may wait for an agent that does not read
	})()
	err = conn.SetDeadline(time.Time{})
	if err == nil {
		_, err = fmt.Fprintf(buffered,
			"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n%s: %.3f\r\n\r\n",
			protocol, silenceHeader, s.silence.Seconds())
	}
	if err == nil {
		err = buffered.Flush()
	}
	if err != nil {
		return fmt.Errorf("begin the session: %w", err)
	}
	reading.Go(func() {
		defer session.Close()
		for news := json.NewDecoder(buffered); ; {
			var n News
			if news.Decode(&n) != nil || session.Report(n) != nil {
				return
			}
		}
	})
	encoder := json.NewEncoder(buffered)
	for {
		orders, err := session.Orders()
		if err != nil {
			return err
		}
		if err := conn.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
			return err
		}
		for _, o := range orders {
			if err := encoder.Encode(o); err != nil {
				return fmt.Errorf("send an order: %w", err)
			}
		}
		if err := buffered.Flush(); err != nil {
			return fmt.Errorf("send orders: %w", err)
		}
	}
}
