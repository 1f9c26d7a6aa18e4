package notify

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"html"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/wneessen/go-mail"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
)

// defaultSubject is the original's default subject.
const defaultSubject = "ElasticJob error message"

// maxMail is the greatest length in bytes of a mail's text.
const maxMail = 64 << 10

func (s *Sender) email(ctx context.Context, n notifications.Notification) error {
	message, err := mailOf(n)
	if err != nil {
		return fmt.Errorf("write the mail: %w", err)
	}
	host, port := n.Job.Prop(jobs.PropEmailHost), n.Job.Prop(jobs.PropEmailPort)
	if err := s.sendMail(ctx, n.Job, host, port, message); err != nil {
		if err = mailProblem(err); ctx.Err() != nil {
			err = errors.New("it takes too long")
		}
		return fmt.Errorf("send mail by %s: %w", net.JoinHostPort(host, port), err)
	}
	return nil
}

func mailOf(n notifications.Notification) (*mail.Msg, error) {
	m := mail.NewMsg()
	p := n.Job.Prop
	errs := []error{m.From(p(jobs.PropEmailFrom)), m.ToFromString(p(jobs.PropEmailTo))}
	if cc := p(jobs.PropEmailCC); cc != "" {
		errs = append(errs, m.CcFromString(cc))
	}
	if bcc := p(jobs.PropEmailBCC); bcc != "" {
		errs = append(errs, m.BccFromString(bcc))
	}
	m.Subject(cmp.Or(p(jobs.PropEmailSubject), defaultSubject))
	plain := text(n, maxMail)
	m.SetBodyString(mail.TypeTextPlain, plain)
	m.AddAlternativeString(mail.TypeTextHTML, "<html><body><pre>"+html.EscapeString(plain)+"</pre></body></html>\n")
	return m, errors.Join(errs...)
}

// sendMail sends one mail. It opens the connection itself, so that the connection ends with ctx whatever the server
// does.
func (s *Sender) sendMail(ctx context.Context, c jobs.Config, host, port string, message *mail.Msg) error {
	number, err := strconv.Atoi(port)
	if err != nil {
		return fmt.Errorf("the port is not a number: %w", err)
	}
	encrypted := !strings.EqualFold(c.Prop(jobs.PropEmailSSL), "false")
	startTLS := encrypted && slices.Contains(s.startTLSPorts, number)
	security := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12,
		InsecureSkipVerify: trusts(c.Prop(jobs.PropEmailTrust), host)}
	talk, end := context.WithCancel(ctx)
	defer end()
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		raw, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		context.AfterFunc(talk, func() { _ = raw.Close() }) // has no effect after a regular close
		var conn net.Conn = &limitedConn{raw, maxRead}
		if encrypted && !startTLS {
			conn = tls.Client(conn, security)
		}
		return conn, nil
	}
	policy := mail.NoTLS
	auth := mail.WithOpportunisticSMTPAuth(mail.SMTPAuthSCRAMSHA256, mail.SMTPAuthSCRAMSHA1, mail.SMTPAuthCramMD5,
		mail.SMTPAuthPlainNoEnc, mail.SMTPAuthLoginNoEnc)
	switch {
	case startTLS:
		policy, auth = mail.TLSMandatory, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover)
	case encrypted: // from the first byte on; the library recognizes it by the connection
		policy, auth = mail.TLSOpportunistic, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover)
	}
	options := []mail.Option{mail.WithPort(number), mail.WithTimeout(sendTimeout), mail.WithTLSPolicy(policy),
		mail.WithTLSConfig(security), mail.WithDialContextFunc(dial)}
	if user := c.Prop(jobs.PropEmailUsername); user != "" {
		options = append(options, auth, mail.WithUsername(user), mail.WithPassword(c.Prop(jobs.PropEmailPassword)))
	}
	client, err := mail.NewClient(host, options...)
	if err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	return client.DialAndSendWithContext(ctx, message)
}

// trusts reports whether email.ssl.trust, which is * or a list of hosts separated by spaces, contains the host. If so,
// any certificate of the host is accepted.
func trusts(list, host string) bool {
	names := strings.Fields(list)
	return slices.Contains(names, "*") || slices.Contains(names, host)
}
