// Package mailserver is an SMTP server for tests that keeps every mail it accepts.
package mailserver

import (
	"bufio"
	"cmp"
	"crypto/hmac"
	"crypto/md5"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
)

// Options describe the server. Without TLS it neither offers nor expects TLS.
type Options struct {
	// TLS, if not nil, is offered with STARTTLS or, with Implicit, used from the first byte on.
	TLS      *tls.Config
	Implicit bool
	// User and Password, if not empty, are required. Logins are the offered mechanisms: PLAIN if empty.
	User, Password string
	Logins         string
	// Refuse has replies other than 250 to RCPT, by the recipient's address, such as "550 unknown".
	Refuse map[string]string
	// PerMail, if not 0, is the number of recipients of a mail; further ones are refused with 452.
	PerMail int
}

// Mail is a received mail.
type Mail struct {
	From string
	To   []string
	// Data is the mail with its header, unchanged.
	Data string
	// Encrypted and Authenticated describe the connection, and Login the mechanism that the client chose.
	Encrypted, Authenticated bool
	Login                    string
}

// Server is an SMTP server on the loopback interface.
type Server struct {
	opt Options
	// Host and Port are its address.
	Host, Port string
	// Mails receives each mail.
	Mails chan Mail

	mu    sync.Mutex
	conns map[net.Conn]bool
	work  sync.WaitGroup
}

// Start starts a server, which ends with the test.
func Start(t testing.TB, opt Options) *Server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{opt: opt, Mails: make(chan Mail, 100), conns: map[net.Conn]bool{}}
	s.Host, s.Port, _ = net.SplitHostPort(listener.Addr().String())
	s.work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns[conn] = true
			s.mu.Unlock()
			s.work.Go(func() {
				defer conn.Close()
				s.talk(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		s.mu.Lock()
		for conn := range s.conns {
			_ = conn.Close()
		}
		s.mu.Unlock()
		s.work.Wait()
	})
	return s
}

// talk handles one connection.
func (s *Server) talk(conn net.Conn) {
	m := Mail{}
	if s.opt.Implicit {
		conn, m.Encrypted = tls.Server(conn, s.opt.TLS), true
	}
	lines := bufio.NewReader(conn)
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(conn, format+"\r\n", args...) }
	say("220 test")
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		verb, rest, _ := strings.Cut(line, " ")
		switch strings.ToUpper(verb) {
		case "EHLO", "HELO":
			say("250-test")
			if s.opt.TLS != nil && !m.Encrypted {
				say("250-STARTTLS")
			}
			if s.opt.User != "" {
				say("250-AUTH %s", cmp.Or(s.opt.Logins, "PLAIN"))
			}
			say("250 8BITMIME")
		case "STARTTLS":
			say("220 go")
			conn, m.Encrypted = tls.Server(conn, s.opt.TLS), true
			lines = bufio.NewReader(conn)
		case "AUTH":
			mechanism, secret, _ := strings.Cut(rest, " ")
			m.Login = mechanism
			want := "\x00" + s.opt.User + "\x00" + s.opt.Password
			if mechanism == "CRAM-MD5" {
				const challenge = "<1@test>"
				say("334 %s", base64.StdEncoding.EncodeToString([]byte(challenge)))
				secret, _ = lines.ReadString('\n')
				sum := hmac.New(md5.New, []byte(s.opt.Password))
				sum.Write([]byte(challenge))
				want = s.opt.User + " " + hex.EncodeToString(sum.Sum(nil))
			}
			given, _ := base64.StdEncoding.DecodeString(strings.TrimSpace(secret))
			if m.Authenticated = string(given) == want; !m.Authenticated {
				say("535 the password %s is wrong", s.opt.Password)
				continue
			}
			say("235 welcome")
		case "MAIL":
			m.From, m.To = rest, nil
			say("250 ok")
		case "RCPT":
			address := strings.Trim(strings.TrimPrefix(strings.ToUpper(rest), "TO:"), "<>")
			reply := s.opt.Refuse[strings.ToLower(address)]
			if s.opt.PerMail > 0 && len(m.To) >= s.opt.PerMail {
				reply = "452 too many recipients"
			}
			if reply == "" {
				m.To = append(m.To, rest)
			}
			say("%s", cmp.Or(reply, "250 ok"))
		case "DATA":
			if s.opt.User != "" && !m.Authenticated {
				say("530 who are you")
				continue
			}
			say("354 go on")
			var data strings.Builder
			for {
				line, err := lines.ReadString('\n')
				if err != nil {
					return
				}
				if line == ".\r\n" {
					break
				}
				data.WriteString(strings.TrimPrefix(line, "."))
			}
			m.Data = data.String()
			s.Mails <- m
			m = Mail{Encrypted: m.Encrypted, Authenticated: m.Authenticated, Login: m.Login}
			say("250 taken")
		case "QUIT":
			say("221 bye")
			return
		default: // NOOP, RSET
			say("250 ok")
		}
	}
}
