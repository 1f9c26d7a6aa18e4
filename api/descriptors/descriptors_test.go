package descriptors_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/api/descriptors"
	"github.com/elasticjob-go/elasticjob/test/eventually"
)

// childVariable makes the test binary act as the server under test, because limits apply to a whole process.
const childVariable = "DESCRIPTORS_TEST_CHILD"

// patient is the value of childVariable for a server whose clock stands still. No connection has waited for its client
// too long then, however slow the machine is.
const patient = "patient"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	if err := child(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// reserved is the size of the child's reserve, connections the maximum number of its connections.
const reserved, connections = 4, 25

// child serves three paths: /exhaust opens all remaining descriptors, /free closes them, and / answers. It ends when
// its standard input ends.
func child() error {
	limit, err := descriptors.Limit()
	if err != nil {
		return err
	}
	now := time.Now
	if started := time.Now(); os.Getenv(childVariable) == patient {
		now = func() time.Time { return started }
	}
	reserve, err := descriptors.New(reserved, connections, slog.New(slog.NewTextHandler(os.Stderr, nil)), now)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var (
		mu    sync.Mutex
		taken []*os.File
		mux   http.ServeMux
	)
	mux.HandleFunc("/exhaust", func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		for {
			file, err := os.Open(os.DevNull)
			if err != nil {
				_, _ = io.WriteString(w, err.Error())
				return
			}
			taken = append(taken, file)
		}
	})
	mux.HandleFunc("/free", func(http.ResponseWriter, *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		for _, file := range taken {
			_ = file.Close()
		}
		taken = nil
	})
	mux.HandleFunc("/read", func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 32<<20)) })
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, "out: %v", reserve.Out()) })
	server := &http.Server{Handler: descriptors.Handler(&mux), ConnContext: descriptors.Context}
	fmt.Println(l.Addr(), limit)
	served := make(chan error, 1)
	go func() {
		served <- server.Serve(reserve.Listener(l))
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = server.Close()
	<-served
	return reserve.Close()
}

// server is a child process.
type server struct {
	address, limit string
	// end stops it and returns its log.
	end func() string
}

// serve starts a server, whose clock stands still if clock is patient, and otherwise goes on ("real").
func serve(t *testing.T, clock string) server {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", `ulimit -Sn 40 && ulimit -Hn 60 && exec "$0"`, exe)
	cmd.Env = append(os.Environ(), childVariable+"="+clock)
	var log strings.Builder
	cmd.Stderr = &log
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	first, err := bufio.NewReader(output).ReadString('\n')
	address, limit, _ := strings.Cut(strings.TrimSpace(first), " ")
	if err != nil || limit != "59" && limit != "60" { // the Go runtime leaves it one below the hard limit
		t.Fatalf("it says %q, %v: want the hard limit, 60; its log: %s", first, err, log.String())
	}
	return server{address, limit, func() string {
		if err := input.Close(); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		return log.String()
	}}
}

// ask returns the server's answer on a path.
func (s server) ask(t *testing.T, client *http.Client, path string) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", "http://"+s.address+path, nil)
	if err != nil {
		return "", err
	}
	answer, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	return string(text), err
}

// TestWithoutDescriptorsConnectionsAreAnswered: without descriptors the server answers many more connections than its
// reserve has descriptors, and the log says why it is slow.
func TestWithoutDescriptorsConnectionsAreAnswered(t *testing.T) {
	t.Parallel()
	s := serve(t, patient)
	keeping := &http.Client{Transport: &http.Transport{}}
	defer keeping.CloseIdleConnections()
	if text, err := s.ask(t, keeping, "/exhaust"); err != nil || !strings.Contains(text, "too many open files") {
		t.Fatalf("%q, %v", text, err)
	}
	closing := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for i := range 10 * reserved {
		if text, err := s.ask(t, closing, "/"); err != nil || text != "out: true" && i > reserved {
			t.Fatalf("request %d: %q, %v", i, text, err)
		}
	}
	var beside sync.WaitGroup
	for range 10 * reserved {
		beside.Go(func() {
			if _, err := s.ask(t, closing, "/"); err != nil {
				t.Error(err)
			}
		})
	}
	beside.Wait()
	if _, err := s.ask(t, closing, "/free"); err != nil {
		t.Fatal(err)
	}
	eventually.Works(t, "there are descriptors again", func() error {
		if text, err := s.ask(t, closing, "/"); err != nil || text != "out: false" {
			return fmt.Errorf("%q, %w", text, err)
		}
		return nil
	})
	said := s.end()
	for _, want := range []string{"level=WARN msg=\"out of file descriptors", "limit=" + s.limit,
		"file descriptors available again"} {
		if !strings.Contains(said, want) {
			t.Errorf("%s is not in the log:\n%s", want, said)
		}
	}
	for _, once := range []string{"out of file descriptors", "file descriptors available again"} {
		if n := strings.Count(said, once); n != 1 {
			t.Errorf("the log says %q %d times within a minute:\n%s", once, n, said)
		}
	}
}

// TestSlowClientsBlockNoOthers: whatever clients are slow at, they do not block others, with descriptors left or
// without.
func TestSlowClientsBlockNoOthers(t *testing.T) {
	t.Parallel()
	for name, begun := range map[string]string{
		"nothing sent":    "",
		"next request":    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"half a head":     "GET / HTTP/1.1\r\nHost:",
		"half a body":     "POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf",
		"answer not read": "GET /large HTTP/1.1\r\nHost: a\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, "real")
			closing := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			hold := func() {
				for i := range 2 * connections {
					conn, err := net.Dial("tcp", s.address)
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = conn.Close() })
					if _, err := io.WriteString(conn, begun); err != nil {
						t.Fatalf("connection %d: %v", i, err)
					}
				}
			}
			hold()
			for i := range connections {
				if text, err := s.ask(t, closing, "/"); err != nil || text != "out: false" {
					t.Fatalf("request %d: %q, %v", i, text, err)
				}
			}
			if _, err := s.ask(t, closing, "/exhaust"); err != nil {
				t.Fatal(err)
			}
			hold()
			for i := range connections {
				if _, err := s.ask(t, closing, "/"); err != nil {
					t.Fatalf("without descriptors, request %d: %v", i, err)
				}
			}
			said := s.end()
			for _, want := range []string{"too many connections", "out of file descriptors"} {
				if n := strings.Count(said, want); n != 1 {
					t.Errorf("the log says %q %d times within a minute:\n%s", want, n, said)
				}
			}
		})
	}
}

// TestConnectionsEndTheirAnswers: the connections have the methods that net/http looks for, so that a client that is
// still sending gets its answer.
func TestConnectionsEndTheirAnswers(t *testing.T) {
	t.Parallel()
	reserve, err := descriptors.New(1, 1, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reserve.Close() }()
	below, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := reserve.Listener(below)
	defer func() { _ = l.Close() }()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if n, err := client.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := io.WriteString(client, "more"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 4)); err != nil {
		t.Error("what the client still sends is read: ", err)
	}
}
