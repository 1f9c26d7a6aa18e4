package notify

import (
	"errors"
	"fmt"
	"net/textproto"

	"github.com/wneessen/go-mail"

	"github.com/elasticjob-go/elasticjob/internal/netproblem"
)

// Errors are shown to all users who may see the job, and every user who may change the job chooses the server. So
// errors contain nothing of the answer but a status code. Otherwise a job could reveal the answers of any service in
// the leader's network, and the addresses of names there.

// errTooMuch is the error of a connection that returns more than is read.
var errTooMuch = fmt.Errorf("the answer has more than %d KiB", maxRead>>10)

// problemOf describes a failed connection; it returns "" for other errors.
func problemOf(err error) string {
	if errors.Is(err, errTooMuch) {
		return errTooMuch.Error()
	}
	return netproblem.Text(err)
}

// mailSteps describes the steps of an SMTP session that a server may refuse, by the library's names for them.
var mailSteps = map[mail.SendErrReason]string{
	mail.ErrSMTPMailFrom: " to email.from", mail.ErrSMTPRcptTo: " to an address of email.to, email.cc or email.bcc",
	mail.ErrSMTPData: " to the text", mail.ErrSMTPDataClose: " to the text",
}

// mailProblem returns an error of an SMTP session without the server's text.
func mailProblem(err error) error {
	var refused *mail.SendError
	var answer *textproto.Error
	if errors.As(err, &refused) && refused.ErrorCode() != 0 {
		return fmt.Errorf("the server answers %d%s", refused.ErrorCode(), mailSteps[refused.Reason])
	}
	if errors.As(err, &answer) {
		return fmt.Errorf("the server answers %d", answer.Code)
	}
	if text := problemOf(err); text != "" {
		return errors.New(text)
	}
	return errors.New("it does not answer as a mail server that has what the job asks for: " +
		"check email.host, email.port, email.useSsl (TLS) and email.username")
}
