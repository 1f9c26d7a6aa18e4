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

// sendTimeout is the timeout of one message. It also bounds longer timeouts of the job's properties.
const sendTimeout = 30 * time.Second

// handler sends one message according to the job's properties. It returns soon after ctx has ended.
type handler func(ctx context.Context, n notifications.Notification) error

// Sender sends notifications. It may be used concurrently.
type Sender struct {
	now      func() time.Time
	handlers map[string]handler
}

// New creates a Sender. now is the clock for signatures.
func New(now func() time.Time) *Sender {
	s := &Sender{now: now}
	s.handlers = map[string]handler{
		jobs.HandlerEmail: s.email, jobs.HandlerWechat: s.wechat, jobs.HandlerDingtalk: s.dingtalk,
		jobs.HandlerWebhook: s.webhook,
	}
	return s
}

// Notify sends one message with the handler of the job's jobErrorHandlerType. After an error the message may still
// have arrived. Except for an unknown type, the error is a *notifications.Error. It contains no secret of the job, and
// no part of the server's answer but a status code.
func (s *Sender) Notify(ctx context.Context, n notifications.Notification) error {
	send := s.handlers[n.Job.JobErrorHandlerType]
	if send == nil {
		return fmt.Errorf("jobErrorHandlerType %q sends no notifications; choose EMAIL, WECHAT, DINGTALK or WEBHOOK",
			n.Job.JobErrorHandlerType)
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	err := send(ctx, n)
	if err == nil {
		return nil
	}
	redacted := notifications.Error{Text: n.Job.Redact(err.Error())} // errors of libraries may contain their arguments
	if e, ok := errors.AsType[*notifications.Error](err); ok {
		redacted.Final, redacted.Sent = e.Final, e.Sent
	}
	return &redacted
}

// timeout returns a timeout of the job's properties. It returns fallback, in milliseconds like the property, unless
// the property is a number greater than 0.
func timeout(c jobs.Config, name string, fallback int) time.Duration {
	ms := fallback
	if n, err := strconv.Atoi(c.Prop(name)); err == nil && n > 0 {
		ms = n
	}
	return time.Duration(ms) * time.Millisecond
}

// limitedConn is a connection with a limit on the bytes that are read, so that no answer is endless.
type limitedConn struct {
	net.Conn
	left int
}

// maxRead is the greatest number of bytes read from one connection, including the overhead of TLS.
const maxRead = 256 << 10

func (l *limitedConn) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooMuch
	}
	n, err := l.Conn.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}
