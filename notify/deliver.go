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

// refusal is a recipient to which a mail could not be sent, and the reason.
type refusal struct {
	address string
	err     error
}

// refusals are the recipients to which a mail could not be sent. As an error, they are all recipients of the mail.
type refusals []refusal

// list returns the recipients, each with the reason.
func (r refusals) list() string {
	texts := make([]string, len(r))
	for i, refused := range r {
		texts[i] = fmt.Sprintf("%s (%s)", strings.Trim(refused.address, "<>"), mailProblem(refused.err))
	}
	return strings.Join(texts, ", ")
}

func (r refusals) Error() string { return "the server refuses every recipient: " + r.list() }

// deliver sends a mail to every recipient that the server accepts, and returns the others. If the server refuses some
// temporarily, for instance because a mail has too many recipients, deliver sends another mail to those, and repeats
// this as long as the server accepts some of them. deliver returns an error only if no recipient got the mail.
func deliver(session *smtp.Client, message *mail.Msg) (refused refusals, err error) {
	to, err := message.GetRecipients()
	if err != nil {
		return nil, err
	}
	for sent := false; len(to) > 0; sent = true {
		refusedNow, err := deliverOnce(session, message, to)
		allRefused := len(refusedNow) == len(to)
		switch {
		case err != nil && !sent:
			return nil, err
		case err != nil:
			for _, address := range to {
				refused = append(refused, refusal{address, err})
			}
			return refused, nil
		case allRefused && !sent:
			return nil, refusedNow
		case allRefused:
			return append(refused, refusedNow...), nil
		}
		to = nil
		for _, r := range refusedNow {
			if isFinalMail(r.err) {
				refused = append(refused, r)
			} else {
				to = append(to, r.address)
			}
		}
	}
	return refused, nil
}

// deliverOnce sends one mail to those of the recipients that the server accepts, and returns the others. It sends no
// mail if the server accepts none of them.
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

// mailStep is the error of a step of an SMTP session, such as the sender or the text.
type mailStep struct {
	step string // in words that follow "the server answers 550"
	err  error
}

func (s *mailStep) Error() string { return s.err.Error() }
func (s *mailStep) Unwrap() error { return s.err }

// isFinalMail reports whether an error of a mail is permanent: the server has refused the mail, or all of its
// recipients, with 5xx, or the login would send the password in clear text.
func isFinalMail(err error) bool {
	if all, ok := errors.AsType[refusals](err); ok {
		return !slices.ContainsFunc(all, func(r refusal) bool { return !isFinalMail(r.err) })
	}
	answer, ok := errors.AsType[*textproto.Error](err)
	return ok && answer.Code >= 500 && answer.Code <= 599 || errors.Is(err, errPlainLogin)
}
