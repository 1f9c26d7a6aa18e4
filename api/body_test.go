package api_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/api"
)

// TestTooLargeABodyIsAnswered: a client that reads the answer only after sending everything gets the answer. A client
// that expects 100 Continue does not have to send the body.
func TestTooLargeABodyIsAnswered(t *testing.T) {
	t.Parallel()
	server := start(t, api.Options{Scheduler: newFakeScheduler()})
	address := strings.TrimPrefix(server.URL, "http://")
	const large = 40 << 20 // more than the buffers of two sockets hold
	chunk := fmt.Sprintf("%x\r\n%s\r\n", 1<<20, bytes.Repeat([]byte{' '}, 1<<20))
	for name, c := range map[string]struct{ head, body string }{
		"length":          {fmt.Sprintf("Content-Length: %d", large), strings.Repeat(" ", large)},
		"chunks":          {"Transfer-Encoding: chunked", strings.Repeat(chunk, 40) + "0\r\n\r\n"},
		"asks":            {fmt.Sprintf("Content-Length: %d\r\nExpect: 100-continue", large), ""},
		"no route":        {fmt.Sprintf("Content-Length: %d", large), strings.Repeat(" ", large)},
		"login":           {fmt.Sprintf("Content-Length: %d", 17<<10), strings.Repeat(" ", 17<<10)},
		"login in chunks": {"Transfer-Encoding: chunked", chunk + "0\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
			path := "/api/app"
			switch {
			case name == "no route":
				path = "/none"
			case strings.HasPrefix(name, "login"):
				path = "/api/login"
			}
			if _, err := io.WriteString(conn,
				"POST "+path+" HTTP/1.1\r\nHost: "+address+"\r\n"+c.head+"\r\n\r\n"+c.body); err != nil {
				t.Fatalf("it could not send everything: %v", err)
			}
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatalf("it got no answer: %v", err)
			}
			text, err := io.ReadAll(answer.Body)
			if err != nil || answer.StatusCode != http.StatusRequestEntityTooLarge ||
				!bytes.Contains(text, []byte(`"body_too_large","message":"this request changed nothing: `)) {
				t.Errorf("%d %s, %v", answer.StatusCode, text, err)
			}
		})
	}
}
