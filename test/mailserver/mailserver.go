// Package mailserver is an SMTP server for tests that accepts every mail and keeps it.
package mailserver

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
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
	// User and Password, if not empty, are required.
	User, Password string
}

// Mail is a received mail.
type Mail struct {
	From string
	To   []string
	// Data is the mail with its header, unchanged.
	Data string
	// Encrypted and Authenticated describe the connection.
	Encrypted, Authenticated bool
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
				say("250-AUTH PLAIN")
			}
			say("250 8BITMIME")
		case "STARTTLS":
			say("220 go")
			conn, m.Encrypted = tls.Server(conn, s.opt.TLS), true
			lines = bufio.NewReader(conn)
		case "AUTH":
			_, secret, _ := strings.Cut(rest, " ")
			given, _ := base64.StdEncoding.DecodeString(secret)
			if m.Authenticated = string(given) == "\x00"+s.opt.User+"\x00"+s.opt.Password; !m.Authenticated {
				say("535 the password %s is wrong", s.opt.Password)
				continue
			}
			say("235 welcome")
		case "MAIL":
			m.From = rest
			say("250 ok")
		case "RCPT":
			m.To = append(m.To, rest)
			say("250 ok")
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
			m = Mail{Encrypted: m.Encrypted, Authenticated: m.Authenticated}
			say("250 taken")
		case "QUIT":
			say("221 bye")
			return
		default: // NOOP, RSET
			say("250 ok")
		}
	}
}
