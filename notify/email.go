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

// defaultSubject is ElasticJob-Cloud's default subject.
const defaultSubject = "ElasticJob error message"

// maxMail is the greatest number of bytes of a mail's text.
const maxMail = 64 << 10

func (s *Sender) email(ctx context.Context, n notifications.Notification) error {
	message, err := newMail(n)
	if err != nil {
		return fmt.Errorf("write the mail: %w", err)
	}
	server := net.JoinHostPort(n.Job.Prop(jobs.PropEmailHost), n.Job.Prop(jobs.PropEmailPort))
	refused, err := sendMail(ctx, n.Job, message)
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("send mail by %s: it takes too long", server)
	case err != nil:
		return &notifications.Error{Text: fmt.Sprintf("send mail by %s: %s", server, mailProblem(err)),
			Final: isFinalMail(err)}
	case len(refused) > 0:
		return &notifications.Error{Text: fmt.Sprintf("send mail by %s: sent, but not to %s", server,
			refused.list()), Sent: true}
	}
	return nil
}

// newMail returns the mail with the sender, recipients and subject of the job's properties.
func newMail(n notifications.Notification) (*mail.Msg, error) {
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

// encryption is how a connection to a mail server is encrypted.
type encryption int

const (
	tlsIfOffered encryption = iota // by STARTTLS if the server offers it; the certificate is not verified
	startTLS                       // by STARTTLS, which the server must offer
	implicitTLS                    // from the first byte on
)

// errNotTLS is the error of a server that answers a TLS handshake in clear text.
var errNotTLS = errors.New("the server does not begin with TLS")

// sendMail sends one mail, and returns the refused recipients. The job's email.useSsl and email.port choose the
// encryption. If a server answers in clear text where implicit TLS was expected, sendMail tries again with STARTTLS.
func sendMail(ctx context.Context, c jobs.Config, message *mail.Msg) (refused refusals, err error) {
	e, port := implicitTLS, c.Prop(jobs.PropEmailPort)
	switch {
	case strings.EqualFold(c.Prop(jobs.PropEmailSSL), "false"):
		e = tlsIfOffered
	case port == "25" || port == "587": // a server there may refuse clients that speak first
		e = startTLS
	}
	refused, err = sendEncrypted(ctx, c, e, message)
	if errors.Is(err, errNotTLS) {
		refused, err = sendEncrypted(ctx, c, startTLS, message)
	}
	return refused, err
}

// sendEncrypted sends one mail over a new connection. The connection is closed when ctx ends, even while the library
// waits for the server.
func sendEncrypted(ctx context.Context, c jobs.Config, e encryption, message *mail.Msg) (refusals, error) {
	host := c.Prop(jobs.PropEmailHost)
	port, err := strconv.Atoi(c.Prop(jobs.PropEmailPort))
	if err != nil {
		return nil, fmt.Errorf("the port is not a number: %w", err)
	}
	encrypted := false // whether a TLS handshake succeeded
	tlsConfig := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12,
		InsecureSkipVerify: e == tlsIfOffered || trusts(c.Prop(jobs.PropEmailTrust), host),
		VerifyConnection:   func(tls.ConnectionState) error { encrypted = true; return nil }}
	sending, end := context.WithCancel(ctx)
	defer end()
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		raw, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		context.AfterFunc(sending, func() { _ = raw.Close() }) // has no effect after a regular close
		conn := &limitedConn{raw, maxRead}
		if e != implicitTLS {
			return conn, nil
		}
		secured := tls.Client(conn, tlsConfig)
		err = secured.HandshakeContext(ctx)
		if _, isText := errors.AsType[tls.RecordHeaderError](err); isText {
			err = errNotTLS
		}
		return secured, err
	}
	policy := map[encryption]mail.TLSPolicy{tlsIfOffered: mail.TLSOpportunistic, startTLS: mail.TLSMandatory,
		implicitTLS: mail.TLSOpportunistic}[e] // the library recognizes implicit TLS by the connection
	options := []mail.Option{mail.WithPort(port), mail.WithTimeout(sendTimeout), mail.WithTLSPolicy(policy),
		mail.WithTLSConfig(tlsConfig), mail.WithDialContextFunc(dial)}
	if user := c.Prop(jobs.PropEmailUsername); user != "" {
		// Without TLS, AutoDiscover chooses only a login that does not send the password.
		auth := mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover)
		if e == tlsIfOffered && strings.EqualFold(c.Prop(jobs.PropEmailPlainLogin), "true") {
			auth = mail.WithOpportunisticSMTPAuth(mail.SMTPAuthSCRAMSHA256, mail.SMTPAuthSCRAMSHA1,
				mail.SMTPAuthCramMD5, mail.SMTPAuthPlainNoEnc, mail.SMTPAuthLoginNoEnc)
		}
		options = append(options, auth, mail.WithUsername(user), mail.WithPassword(c.Prop(jobs.PropEmailPassword)))
	}
	client, err := mail.NewClient(host, options...)
	if err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	session, err := client.DialToSMTPClientWithContext(ctx)
	if errors.Is(err, mail.ErrNoSupportedAuthDiscovered) && !encrypted {
		return nil, errPlainLogin
	}
	if err != nil {
		return nil, err
	}
	defer session.Close()
	return deliver(session, message)
}

// trusts reports whether the list of email.ssl.trust contains the host or is *. If so, the certificate of the host is
// not verified. Spaces separate the hosts of the list.
func trusts(list, host string) bool {
	names := strings.Fields(list)
	return slices.Contains(names, "*") || slices.Contains(names, host)
}
