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

// childVariable has the test binary be the server that the test looks at: limits are a process's own.
const childVariable = "DESCRIPTORS_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	if err := child(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// The child has reserved descriptors in reserve, and at most connections.
const reserved, connections = 4, 25

// child serves: /exhaust takes all descriptors that are left, /free gives them back, / answers. It ends with its input.
func child() error {
	limit, err := descriptors.Limit()
	if err != nil {
		return err
	}
	reserve, err := descriptors.New(reserved, connections, slog.New(slog.NewTextHandler(os.Stderr, nil)), time.Now)
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
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, "out: %v", reserve.Out()) })
	server := &http.Server{Handler: &mux}
	fmt.Println(l.Addr(), limit)
	served := make(chan error, 1)
	go func() {
		served <- server.Serve(reserve.Listener(l, func(out bool) { server.SetKeepAlivesEnabled(!out) }))
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = server.Close()
	<-served
	return reserve.Close()
}

// TestWithoutDescriptorsConnectionsAreAnswered, many more of them than are in reserve, and the log says why it is slow.
func TestWithoutDescriptorsConnectionsAreAnswered(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", `ulimit -Sn 40 && ulimit -Hn 60 && exec "$0"`, exe)
	cmd.Env = append(os.Environ(), childVariable+"=1")
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

	ask := func(client *http.Client, path string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, "GET", "http://"+address+path, nil)
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
	keeping := &http.Client{Transport: &http.Transport{}}
	defer keeping.CloseIdleConnections()
	// Clients that hold connections, and ask nothing, keep nobody else out.
	for i := range 2 * connections {
		idle := &http.Client{Transport: &http.Transport{}}
		defer idle.CloseIdleConnections()
		if _, err := ask(idle, "/"); err != nil {
			t.Fatalf("client %d: %v", i, err)
		}
	}
	if text, err := ask(keeping, "/exhaust"); err != nil || !strings.Contains(text, "too many open files") {
		t.Fatalf("%q, %v", text, err)
	}
	closing := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for i := range 10 * reserved {
		if text, err := ask(closing, "/"); err != nil || text != "out: true" && i > reserved {
			t.Fatalf("request %d: %q, %v", i, text, err)
		}
	}
	var beside sync.WaitGroup
	for range 10 * reserved {
		beside.Go(func() {
			if _, err := ask(closing, "/"); err != nil {
				t.Error(err)
			}
		})
	}
	beside.Wait()
	if _, err := ask(closing, "/free"); err != nil {
		t.Fatal(err)
	}
	eventually.Works(t, "there are descriptors again", func() error {
		if text, err := ask(closing, "/"); err != nil || text != "out: false" {
			return fmt.Errorf("%q, %w", text, err)
		}
		return nil
	})
	if err := input.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	said := log.String()
	for _, want := range []string{"level=WARN msg=\"out of file descriptors", "limit=" + limit, "file descriptors available again"} {
		if !strings.Contains(said, want) {
			t.Errorf("%s is not in the log:\n%s", want, said)
		}
	}
	if n := strings.Count(said, "out of file descriptors"); n != 1 {
		t.Errorf("the log says %d times that there are none left, within a minute:\n%s", n, said)
	}
}
