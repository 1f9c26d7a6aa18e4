package notify

import (
	"cmp"
	"errors"
	"fmt"
	"net/textproto"

	"github.com/elasticjob-go/elasticjob/internal/netproblem"
)

// All users who may see a job see its errors, and a user who may change the job chooses its server. So errors contain
// no part of the answer but a status code. Otherwise a job could reveal the answers of any service in the leader's
// network, and the addresses of host names there.

// errTooMuch is the error of a connection that sends more than maxRead bytes.
var errTooMuch = fmt.Errorf("the answer has more than %d KiB", maxRead>>10)

// problemOf returns what is wrong with a connection, or "" for other errors.
func problemOf(err error) string {
	if errors.Is(err, errTooMuch) {
		return errTooMuch.Error()
	}
	return netproblem.Text(err)
}

// errPlainLogin is the error of a login that would send the password in clear text.
var errPlainLogin = errors.New("the server offers neither TLS (STARTTLS) nor a login that keeps the password secret, " +
	"so none was sent: use a port with TLS and leave out email.useSsl, empty email.username if the server requires no " +
	"login, or set email.allowPlaintextLogin to true to send the password in clear text")

// mailProblem returns the text of an error of an SMTP session, without the text of the server's answer.
func mailProblem(err error) string {
	if all, ok := errors.AsType[refusals](err); ok {
		return all.Error()
	}
	if answer, ok := errors.AsType[*textproto.Error](err); ok {
		text := fmt.Sprintf("the server answers %d", answer.Code)
		if s, ok := errors.AsType[*mailStep](err); ok {
			text += s.step
		}
		return text
	}
	if errors.Is(err, errPlainLogin) {
		return errPlainLogin.Error()
	}
	return cmp.Or(problemOf(err), "it does not answer as a mail server that has what the job asks for: "+
		"check email.host, email.port, email.useSsl (TLS) and email.username")
}
