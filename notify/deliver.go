package notify

import (
	"errors"
	"fmt"
	"net/textproto"
	"slices"
	"strings"

	"github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
)

// refusal is a recipient that the server did not accept.
type refusal struct {
	address string
	err     error
}

// refusals are recipients that the server did not accept. As an error they are all recipients of a mail.
type refusals []refusal

func (r refusals) list() string {
	texts := make([]string, len(r))
	for i, one := range r {
		texts[i] = fmt.Sprintf("%s (%s)", strings.Trim(one.address, "<>"), mailProblem(one.err))
	}
	return strings.Join(texts, ", ")
}

func (r refusals) Error() string { return "the server refuses every recipient: " + r.list() }

// deliver sends a mail to every recipient that the server accepts, and returns the others. Those that it refuses
// temporarily, for instance because a mail has too many recipients, are tried again with a mail of their own, as long
// as it accepts some of them. It fails if people could not be sent anything.
func deliver(session *smtp.Client, message *mail.Msg) (refused refusals, err error) {
	to, err := message.GetRecipients()
	if err != nil {
		return nil, err
	}
	for sent := false; len(to) > 0; sent = true {
		not, err := deliverOnce(session, message, to)
		switch {
		case err != nil && !sent:
			return nil, err
		case err != nil:
			for _, address := range to {
				refused = append(refused, refusal{address, err})
			}
			return refused, nil
		case len(not) == len(to) && !sent:
			return nil, not
		case len(not) == len(to):
			return append(refused, not...), nil
		}
		to = nil
		for _, r := range not {
			if isFinalMail(r.err) {
				refused = append(refused, r)
			} else {
				to = append(to, r.address)
			}
		}
	}
	return refused, nil
}

// deliverOnce sends a mail to those of the recipients that the server accepts, and returns the others.
func deliverOnce(session *smtp.Client, message *mail.Msg, to []string) (refused refusals, err error) {
	from, err := message.GetSender(false)
	if err != nil {
		return nil, err
	}
	if err := session.Mail(from); err != nil {
		return nil, &mailStep{" to email.from", err}
	}
	for _, address := range to {
		err := session.Rcpt(address)
		if _, answered := errors.AsType[*textproto.Error](err); err != nil && !answered {
			return nil, err
		}
		if err != nil {
			refused = append(refused, refusal{address, err})
		}
	}
	if len(refused) == len(to) {
		return refused, nil
	}
	text, err := session.Data()
	if err == nil {
		if _, err = message.WriteTo(text); err == nil {
			err = text.Close()
		}
	}
	if err != nil {
		return nil, &mailStep{" to the text", err}
	}
	return refused, nil
}

// mailStep is the error of a step of an SMTP session that the server may refuse.
type mailStep struct {
	step string
	err  error
}

func (s *mailStep) Error() string { return s.err.Error() }
func (s *mailStep) Unwrap() error { return s.err }

// isFinalMail reports whether an error of a mail is permanent: the server refuses it with 5xx, and every recipient if
// it refuses these, or the job's settings forbid it.
func isFinalMail(err error) bool {
	if all, ok := errors.AsType[refusals](err); ok {
		return !slices.ContainsFunc(all, func(r refusal) bool { return !isFinalMail(r.err) })
	}
	answer, ok := errors.AsType[*textproto.Error](err)
	return ok && answer.Code >= 500 && answer.Code <= 599 || errors.Is(err, errPlainLogin)
}
