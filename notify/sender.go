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

// sendTimeout is the timeout of one message, whatever the job's properties say.
const sendTimeout = 30 * time.Second

// handler sends one message according to a job's properties. It returns soon after ctx has ended.
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

// Notify sends one message with the handler of the job's type. After an error the message may still have arrived. The
// error, a *notifications.Error, contains no secret of the job, and nothing of the server's answer but a status code.
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
	told := notifications.Error{Text: n.Job.Redact(err.Error())} // errors of libraries may contain their arguments
	if e, ok := errors.AsType[*notifications.Error](err); ok {
		told.Final, told.Sent = e.Final, e.Sent
	}
	return &told
}

// millis returns a timeout from a job's properties; fallback is in milliseconds too.
func millis(c jobs.Config, name string, fallback int) time.Duration {
	if n, err := strconv.Atoi(c.Prop(name)); err == nil && n > 0 {
		fallback = n
	}
	return time.Duration(fallback) * time.Millisecond
}

// limitedConn is a connection with a limit on the bytes that are read, against endless answers.
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
