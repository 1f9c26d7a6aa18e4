package notify_test

import (
	"context"
	"crypto/tls"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/http/httptest"
	"net/mail"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/test/mailserver"
)

// certificate returns a self-signed certificate of 127.0.0.1.
func certificate() *tls.Config {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	return &tls.Config{Certificates: s.TLS.Certificates}
}

func mailProps(s *mailserver.Server, more props) props {
	p := props{
		jobs.PropEmailHost: s.Host, jobs.PropEmailPort: s.Port, jobs.PropEmailUsername: "", jobs.PropEmailPassword: "",
		jobs.PropEmailFrom: "Jobs <jobs@example.com>", jobs.PropEmailTo: "a@example.com, B <b@example.com>",
		jobs.PropEmailTrust: "other.example.com 127.0.0.1",
	}
	maps.Copy(p, more)
	return p
}

// partsOf returns the texts of a mail by their types.
func partsOf(t *testing.T, m *mail.Message) props {
	t.Helper()
	_, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	parts := props{}
	for r := multipart.NewReader(m.Body, params["boundary"]); ; {
		part, err := r.NextRawPart()
		if err == io.EOF {
			return parts
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(quotedprintable.NewReader(part))
		if err != nil {
			t.Fatal(err)
		}
		kind, _, _ := strings.Cut(part.Header.Get("Content-Type"), ";")
		parts[kind] = strings.ReplaceAll(string(text), "\r\n", "\n")
	}
}

func TestEmail(t *testing.T) {
	t.Parallel()
	me := func(o mailserver.Options) mailserver.Options {
		o.User, o.Password = "me", token
		return o
	}
	noSSL := props{jobs.PropEmailSSL: "false"}
	for name, test := range map[string]struct {
		server mailserver.Options
		props  props
	}{
		"STARTTLS on any port":               {me(mailserver.Options{TLS: certificate()}), nil},
		"TLS from the first byte":            {me(mailserver.Options{TLS: certificate(), Implicit: true}), nil},
		"STARTTLS offered, though not asked": {me(mailserver.Options{TLS: certificate()}), props{jobs.PropEmailSSL: "false", jobs.PropEmailTrust: "other.example.com"}},
		"plain, a login without a password":  {me(mailserver.Options{Logins: "LOGIN PLAIN CRAM-MD5"}), noSSL},
		"plain, allowed":                     {me(mailserver.Options{}), props{jobs.PropEmailSSL: "false", jobs.PropEmailPlainLogin: "TRUE"}},
		"without a user":                     {mailserver.Options{}, props{jobs.PropEmailSSL: "FALSE"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := mailserver.Start(t, test.server)
			p := mailProps(server, test.props)
			p[jobs.PropEmailUsername], p[jobs.PropEmailPassword] = test.server.User, test.server.Password
			p[jobs.PropEmailCC], p[jobs.PropEmailBCC], p[jobs.PropEmailSubject] = "c@example.com,d@example.com",
				"e@example.com,f@example.com", "作业失败"
			by := sender()
			if err := by.Notify(t.Context(), failed(jobs.HandlerEmail, p)); err != nil {
				t.Fatal(err)
			}
			got := <-server.Mails
			to := []string{"TO:<a@example.com>", "TO:<b@example.com>", "TO:<c@example.com>", "TO:<d@example.com>",
				"TO:<e@example.com>", "TO:<f@example.com>"}
			if !slices.Equal(got.To, to) || got.Encrypted != (test.server.TLS != nil) ||
				got.Authenticated != (test.server.User != "") {
				t.Errorf("received %+v", got)
			}
			m, err := mail.ReadMessage(strings.NewReader(got.Data))
			if err != nil {
				t.Fatal(err)
			}
			subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
			if err != nil || subject != "作业失败" || m.Header.Get("Bcc") != "" ||
				!strings.Contains(m.Header.Get("Cc"), "d@example.com") {
				t.Errorf("%v, subject %q, header %v", err, subject, m.Header)
			}
			parts := partsOf(t, m)
			if html := parts["text/html"]; !strings.Contains(html, "&lt;b&gt;北京&lt;/b&gt; is down") ||
				strings.Contains(html, "<b>") {
				t.Errorf("HTML: %s", html)
			}
			if parts["text/plain"] != wantText {
				t.Errorf("text: %s", parts["text/plain"])
			}
		})
	}
}

// TestMailServersThatAreOutOfOrder checks that a failing mail server soon causes an error, without a secret.
func TestMailServersThatAreOutOfOrder(t *testing.T) {
	t.Parallel()
	withUser := props{jobs.PropEmailUsername: "me", jobs.PropEmailPassword: token}
	plain := props{jobs.PropEmailSSL: "false"}
	allowed := props{jobs.PropEmailPlainLogin: "true"}
	refuse := func(replies ...string) mailserver.Options {
		return mailserver.Options{Refuse: props{"a@example.com": replies[0], "b@example.com": replies[1]}}
	}
	for name, test := range map[string]struct {
		server mailserver.Options
		props  []props
		want   string
		final  bool
	}{
		"a self-signed certificate":         {mailserver.Options{TLS: certificate(), Implicit: true}, []props{{jobs.PropEmailTrust: "other.example.com"}}, "certificate", false},
		"the same by STARTTLS":              {mailserver.Options{TLS: certificate()}, []props{{jobs.PropEmailTrust: "other.example.com"}}, "certificate", false},
		"no TLS where it must be":           {mailserver.Options{}, nil, "TLS", false},
		"a wrong password":                  {mailserver.Options{User: "me", Password: token + "!"}, []props{withUser, plain, allowed}, "the server answers 535", true},
		"no user where there must be one":   {mailserver.Options{User: "me", Password: "x"}, []props{plain}, "answers 530 to the text", true},
		"a password in clear text by PLAIN": {mailserver.Options{User: "me", Password: token}, []props{withUser, plain}, "email.allowPlaintextLogin", true},
		"a password in clear text by LOGIN": {mailserver.Options{User: "me", Password: token, Logins: "LOGIN"}, []props{withUser, plain}, "email.allowPlaintextLogin", true},
		"allowed, but TLS is required":      {mailserver.Options{User: "me", Password: token}, []props{withUser, allowed}, "TLS", false},
		"every recipient is unknown":        {refuse("550 private", "551 private"), []props{plain}, "every recipient: a@example.com (the server answers 550), b@example.com (the server answers 551)", true},
		"every recipient, one for now":      {refuse("550 private", "450 private"), []props{plain}, "b@example.com (the server answers 450)", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := mailProps(mailserver.Start(t, test.server), nil)
			for _, more := range test.props {
				maps.Copy(p, more)
			}
			err := sender().Notify(t.Context(), failed(jobs.HandlerEmail, p))
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), token) ||
				strings.Contains(err.Error(), "private") {
				t.Errorf("got %v, want …%s…", err, test.want)
			}
			if got := outcome(t, err); got.Final != test.final || got.Sent {
				t.Errorf("final %v, sent %v", got.Final, got.Sent)
			}
		})
	}
}

// TestARefusedRecipient checks that a refused recipient does not keep the others from being notified, and that the
// outcome names it.
func TestARefusedRecipient(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		server mailserver.Options
		to     []string // of each mail
		want   string
	}{
		"the first":     {mailserver.Options{Refuse: props{"a@example.com": "550 private"}}, []string{"b c d"}, "but not to a@example.com (the server answers 550)"},
		"in Cc and Bcc": {mailserver.Options{Refuse: props{"c@example.com": "554 private", "d@example.com": "551 private"}}, []string{"a b"}, "c@example.com (the server answers 554), d@example.com (the server answers 551)"},
		"for now":       {mailserver.Options{Refuse: props{"b@example.com": "450 private"}}, []string{"a c d"}, "but not to b@example.com (the server answers 450)"},
		"too many":      {mailserver.Options{PerMail: 3}, []string{"a b c", "d"}, ""},
		"too many, and one that is unknown": {mailserver.Options{PerMail: 2, Refuse: props{"a@example.com": "550 private"}},
			[]string{"b c", "d"}, "but not to a@example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := mailserver.Start(t, test.server)
			err := sender().Notify(t.Context(),
				failed(jobs.HandlerEmail, mailProps(server, props{jobs.PropEmailSSL: "false",
					jobs.PropEmailCC: "c@example.com", jobs.PropEmailBCC: "d@example.com"})))
			if test.want == "" && err != nil {
				t.Fatal(err)
			} else if test.want != "" {
				if got := outcome(t, err); !got.Sent || got.Final || !strings.Contains(got.Text, test.want) ||
					strings.Contains(got.Text, "private") {
					t.Errorf("got %+v", got)
				}
			}
			for _, want := range test.to {
				var to []string
				for _, one := range (<-server.Mails).To {
					to = append(to, strings.TrimSuffix(strings.TrimPrefix(one, "TO:<"), "@example.com>"))
				}
				if got := strings.Join(to, " "); got != want {
					t.Errorf("a mail to %q, want %q", got, want)
				}
			}
		})
	}
}

// TestNoWordOfAServerIsShown checks that users see nothing of a mail server's answers: a user who may change a job
// chooses the server, which may be any service in the leader's network.
func TestNoWordOfAServerIsShown(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ says, want string }{
		"of SSH":                          {"SSH-2.0-OpenSSH_9.2 private\r\n", "the connection broke off"},
		"of a database":                   {"J\x00\x00\x00\n8.0.36-private\x00", "does not answer as a mail server"},
		"of Redis":                        {"-ERR private\r\n", "does not answer as a mail server"},
		"of HTTP":                         {"HTTP/1.1 400 Bad Request\r\nServer: private\r\n\r\n", "does not answer as a mail server"},
		"of a greeting":                   {"554-5.7.1 private\r\n554 private too\r\n", "answers 554"},
		"of a refusal after the greeting": {"220 private\r\n550 private\r\n550 private\r\n", "answers 550"},
		"of a server that closes then":    {"220 private\r\n", "broke off"},
		"of an unknown kind of login":     {"220 hi\r\n250-private\r\n250 AUTH PRIVATE\r\n", "nor a login that keeps the password secret"},
	} {
		for _, by := range []string{jobs.HandlerEmail, jobs.HandlerWebhook} {
			t.Run(name+" by "+by, func(t *testing.T) {
				t.Parallel()
				host, port := says(t, test.says)
				p := mailProps(&mailserver.Server{Host: host, Port: port},
					props{jobs.PropEmailSSL: "false", jobs.PropEmailUsername: "me", jobs.PropEmailPassword: token})
				p[jobs.PropWebhookURL] = "http://" + net.JoinHostPort(host, port)
				err := sender().Notify(t.Context(), failed(by, p))
				if err == nil || strings.Contains(strings.ToLower(err.Error()), "private") ||
					by == jobs.HandlerEmail && !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v, want …%s…", err, test.want)
				}
			})
		}
	}
}

// says starts a server that sends a text to each client, and nothing more.
func says(t *testing.T, text string) (host, port string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, text)
			_ = conn.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, conn)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	if host, port, err = net.SplitHostPort(listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	return host, port
}

// TestMailServersThatNeverComeToAnEnd checks that a server that is silent, or sends without end, is abandoned at the
// timeout.
func TestMailServersThatNeverComeToAnEnd(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		says string
		want string
	}{
		"silent": {"", "it takes too long"},
		"rude":   {strings.Repeat("220-and so on ", 1<<16), "more than 256 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				for err == nil && test.says != "" {
					_, err = io.WriteString(conn, test.says)
				}
				_, _ = io.Copy(io.Discard, conn)
			}()
			defer func() {
				_ = listener.Close()
				<-done
			}()
			host, port, err := net.SplitHostPort(listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			err = sender().Notify(ctx, failed(jobs.HandlerEmail,
				mailProps(&mailserver.Server{Host: host, Port: port}, props{jobs.PropEmailSSL: "false"})))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want …%s…", err, test.want)
			}
		})
	}
}
