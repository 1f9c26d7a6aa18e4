package notify

import (
	"errors"
	"fmt"
	"net/textproto"

	"github.com/wneessen/go-mail"

	"github.com/elasticjob-go/elasticjob/internal/netproblem"
)

// What went wrong is shown to everybody who may see the job, and whoever may change it chooses the server. So errors
// have nothing that came from there but a status code: else a job would show what any service of the leader's network
// says to strangers, and at which address a name is found.

// errTooMuch is the error of a connection that brings more than is read.
var errTooMuch = fmt.Errorf("more than %d KiB came as an answer", mostRead>>10)

// problemOf is why there is no connection, or no more; "" for other errors.
func problemOf(err error) string {
	if errors.Is(err, errTooMuch) {
		return errTooMuch.Error()
	}
	return netproblem.Text(err)
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
	if text := problemOf(err); text != "" {
		return errors.New(text)
	}
	return errors.New("it does not answer as a mail server that has what the job asks for: " +
		"look at email.host, email.port, email.useSsl (TLS) and email.username")
}
