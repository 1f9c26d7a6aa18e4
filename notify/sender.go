package notify

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
)

// most is how long one message may take, whatever its job's properties say.
const most = 30 * time.Second

// handler sends one message, as a job's properties say. It has ended soon after ctx has.
type handler func(ctx context.Context, n notifications.Notification) error

// Sender sends notifications. It may be used concurrently.
type Sender struct {
	now      func() time.Time
	handlers map[string]handler
	// startTLSPorts are where a mail server expects a client to begin without TLS, and to ask for it.
	startTLSPorts []int
}

// New makes a Sender; now is the clock of signatures.
func New(now func() time.Time) *Sender {
	s := &Sender{now: now, startTLSPorts: []int{25, 587}}
	s.handlers = map[string]handler{
		jobs.HandlerEmail: s.email, jobs.HandlerWechat: s.wechat, jobs.HandlerDingtalk: s.dingtalk,
		jobs.HandlerWebhook: s.webhook,
	}
	return s
}

// Notify sends one message by the handler of the job's type. After an error it may have arrived nevertheless. The
// error holds no secret of the job, and of what the server said a status code alone.
func (s *Sender) Notify(ctx context.Context, n notifications.Notification) error {
	send := s.handlers[n.Job.JobErrorHandlerType]
	if send == nil {
		return fmt.Errorf("nobody is told by a handler of type %q; give the job another jobErrorHandlerType",
			n.Job.JobErrorHandlerType)
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	if err := send(ctx, n); err != nil {
		return errors.New(n.Job.Redact(err.Error())) // what libraries say may hold what they were given
	}
	return nil
}

// millis is a timeout among a job's properties; byDefault are milliseconds, too.
func millis(c jobs.Config, name string, byDefault int) time.Duration {
	if n, err := strconv.Atoi(c.Prop(name)); err == nil && n > 0 {
		byDefault = n
	}
	return time.Duration(byDefault) * time.Millisecond
}

// limited is a connection of which only so much is read: who answers without end is cut off.
type limited struct {
	net.Conn
	left int
}

// mostRead bounds what one connection may bring, with all that TLS adds.
const mostRead = 256 << 10

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooMuch
	}
	n, err := l.Conn.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}
