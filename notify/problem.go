package notify

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"syscall"

	"github.com/wneessen/go-mail"
)

// What went wrong is shown to everybody who may see the job, and whoever may change it chooses the server. So errors
// have nothing that came from there but a status code: else a job would show what any service of the leader's network
// says to strangers, and at which address a name is found.

// errTooMuch is the error of a connection that brings more than is read.
var errTooMuch = fmt.Errorf("more than %d KiB came as an answer", mostRead>>10)

// connectionProblem says why there is no connection, or no more, in words that do not depend on what came over it; ""
// for other errors.
func connectionProblem(err error) string {
	var (
		name        *net.DNSError
		dial        *net.OpError
		certificate *tls.CertificateVerificationError
		noTLS       tls.RecordHeaderError
		alert       tls.AlertError
	)
	switch {
	case errors.Is(err, errTooMuch):
		return errTooMuch.Error()
	case errors.As(err, &name):
		return "its name is not found"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection is refused"
	case errors.As(err, &dial) && dial.Op == "dial":
		return "it can't be reached"
	case errors.As(err, &certificate):
		return "its certificate is not one that is trusted for this name"
	case errors.As(err, &noTLS):
		return "it does not speak TLS on this port"
	case errors.As(err, &alert):
		return "it refuses the TLS that is offered"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the connection broke off"
	}
	return ""
}

// mailSteps are the steps of a conversation that a server may refuse, by what the library calls them.
var mailSteps = map[mail.SendErrReason]string{
	mail.ErrSMTPMailFrom: " to email.from", mail.ErrSMTPRcptTo: " to an address of email.to, email.cc or email.bcc",
	mail.ErrSMTPData: " to the text", mail.ErrSMTPDataClose: " to the text",
}

// mailProblem is an error of a conversation with a mail server, without what the server said.
func mailProblem(err error) error {
	var refused *mail.SendError
	var answer *textproto.Error
	if errors.As(err, &refused) && refused.ErrorCode() != 0 {
		return fmt.Errorf("the server answers %d%s", refused.ErrorCode(), mailSteps[refused.Reason])
	}
	if errors.As(err, &answer) {
		return fmt.Errorf("the server answers %d", answer.Code)
	}
	if text := connectionProblem(err); text != "" {
		return errors.New(text)
	}
	return errors.New("it does not answer as a mail server that has what the job asks for: " +
		"look at email.host, email.port, email.useSsl (TLS) and email.username")
}
