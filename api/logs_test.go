package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

const stdout, stderr = "/sandbox/tasks/1/stdout", "/sandbox/tasks/1/stderr"

func TestLogs(t *testing.T) {
	t.Parallel()
	b, f := newFakeScheduler(), &files{}
	b.place("over", false)
	b.place("live", true)
	long := strings.Repeat("0123456789abcdef", 20_000) // several pages
	f.set(stdout, long)
	f.set(stderr, "no input\n\xff")
	server := start(t, api.Options{Scheduler: b, Logs: f})
	for _, c := range []struct{ query, want string }{
		{"", long},
		{"?stream=stdout", long},
		{"?stream=stderr", "no input\n\xff"},
		{"?offset=319990", long[319990:]},
		{"?stream=stderr&offset=3", "input\n\xff"},
		{"?offset=320000", ""},
		{"?offset=9223372036854775807", ""},
		{"?follow=true&offset=160000", long[160000:]}, // the task has ended
		{"?follow=false", long},
	} {
		for _, task := range []string{"over", "live"} {
			if task == "live" && strings.Contains(c.query, "follow=true") {
				continue
			}
			answer, text := call(t, server, "GET", "/api/task/"+task+"/logs"+c.query, "")
			if answer.StatusCode != http.StatusOK || text != c.want ||
				answer.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
				t.Errorf("%s %s: %d, %d bytes, want %d", task, c.query, answer.StatusCode, len(text), len(c.want))
			}
		}
	}
}

func TestLogsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	b, f := newFakeScheduler(), &files{}
	b.place("over", false)
	b.place("live", true)
	b.places["pod"] = views.LogPlace{Dir: "jobs/p/u"} // its agent has no address
	deleted := &files{err: fmt.Errorf("look: %w", &cluster.FilesGone{Why: "its pod p was deleted"})}
	broken, single := &files{err: errors.New("connection refused by 10.1.2.3")}, &files{err: cluster.ErrOneStream}
	blocked := &files{err: fmt.Errorf("read: %w", &cluster.Refused{Status: 500, Message: "Failed to open /10.1.2.3"})}
	folder := &files{err: fmt.Errorf("read: %w", &cluster.Refused{Status: 400, Message: "Cannot read a directory"})}
	for _, c := range []struct {
		files  *files
		path   string
		status int
		code   string
		want   string
	}{
		{folder, "/api/task/over/logs", 409, "log_unreadable", "the job replaced the file"},
		{folder, "/api/task/pod/logs", 503, "agent_unreachable", ""},
		{f, "/api/task/none/logs", 404, "task_not_found", ""},
		{f, "/api/task/over/logs", 410, "log_gone", ""},
		{deleted, "/api/task/pod/logs", 410, "log_gone", `there is no stdout of task \"pod\": its pod p was deleted"`},
		{f, "/api/task/over/logs?follow=true", 410, "log_gone", ""},
		{f, "/api/task/over/logs?offset=-1", 400, "bad_query", `"field":"offset","value":"-1"`},
		{f, "/api/task/over/logs?offset=9e3", 400, "bad_query", `"field":"offset"`},
		{f, "/api/task/over/logs?stream=out&follow=x&offset=y&tail=1", 400, "bad_query", `"field":"tail","value":"1"`},
		{f, "/api/task/over/logs?stream=stdout&stream=stderr", 400, "bad_query", `"field":"stream"`},
		{broken, "/api/task/over/logs", 503, "agent_unreachable", "http://agent:5051"},
		{broken, "/api/task/live/logs?follow=true", 503, "agent_unreachable", ""},
		{broken, "/api/task/pod/logs", 503, "agent_unreachable", `"the cluster, which keeps the output of task`},
		{blocked, "/api/task/live/logs", 409, "log_unreadable", "the job replaced the file"},
		{blocked, "/api/task/over/logs?follow=true", 409, "log_unreadable", ""},
		{single, "/api/task/pod/logs?stream=stderr", 404, "one_stream", "request stdout"},
	} {
		server := start(t, api.Options{Scheduler: b, Logs: c.files})
		answer, text := call(t, server, "GET", c.path, "")
		if e := readError(t, answer, text); answer.StatusCode != c.status || e.Error.Code != c.code ||
			!strings.Contains(text, c.want) {
			t.Errorf("%s: %d %s", c.path, answer.StatusCode, text)
		}
		if strings.Contains(text, "10.1.2.3") {
			t.Errorf("internals told: %s", text)
		}
	}
	// A task that has just started has no file yet.
	server := start(t, api.Options{Scheduler: b, Logs: f})
	if answer, text := call(t, server, "GET", "/api/task/live/logs", ""); answer.StatusCode != 200 || text != "" {
		t.Errorf("%d %q", answer.StatusCode, text)
	}
}

// follow opens a stream. The reader fails the test instead of blocking forever.
func follow(t *testing.T, url string) (*bufio.Reader, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	if answer.StatusCode != http.StatusOK {
		t.Fatal(answer.Status)
	}
	return bufio.NewReader(answer.Body), cancel
}

func line(t *testing.T, r *bufio.Reader, want string) {
	t.Helper()
	if got, err := r.ReadString('\n'); err != nil || got != want {
		t.Fatalf("got %q, %v; want %q", got, err, want)
	}
}

func TestFollowUntilTheTaskEnds(t *testing.T) {
	t.Parallel()
	b, f := newFakeScheduler(), &files{}
	b.queued = "t1"
	server := start(t, api.Options{Scheduler: b, Logs: f})
	if answer, text := call(t, server, "GET", "/api/task/t1/logs", ""); answer.StatusCode != 503 ||
		answer.Header.Get("Retry-After") == "" {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
	r, _ := follow(t, server.URL+"/api/task/t1/logs?follow=true") // before the task has begun
	b.place("t1", true)                                           // and before there is a file
	f.set(stdout, "one\n")
	line(t, r, "one\n")
	f.set(stdout, "one\ntwo\n")
	line(t, r, "two\n")
	f.set(stdout, "new\n") // rotated: a shorter file
	line(t, r, "new\n")
	f.set(stdout, "new\nlast words\n")
	b.place("t1", false)
	line(t, r, "last words\n")
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
}

// TestFollowSurvivesAnAgentsRestart: a stream survives the restart of the agent, and ends when the agent removes the
// files.
func TestFollowSurvivesAnAgentsRestart(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	f := &files{reads: make(chan struct{})}
	b.place("t1", true)
	f.set(stdout, "one\n")
	server := start(t, api.Options{Scheduler: b, Logs: f})
	go func() { <-f.reads; <-f.reads }()
	r, _ := follow(t, server.URL+"/api/task/t1/logs?follow=true")
	line(t, r, "one\n")
	f.mu.Lock()
	f.err = errors.New("connection refused")
	f.mu.Unlock()
	for range 5 {
		<-f.reads
	}
	f.mu.Lock()
	f.err = nil
	f.texts[stdout] = "one\ntwo\n"
	f.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case <-f.reads:
			case <-ended:
				return
			}
		}
	}()
	line(t, r, "two\n")
	f.mu.Lock()
	delete(f.texts, stdout)
	f.mu.Unlock()
	b.place("t1", false)
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
	close(ended)
}

// TestFollowEndsIfOutputCannotBeRead: a client follows a stream before its task begins. If the stream then cannot be
// read, or the cluster merges it into the other one, the server breaks the connection at once instead of retrying, and
// the next request gets the reason.
func TestFollowEndsIfOutputCannotBeRead(t *testing.T) {
	t.Parallel()
	for code, err := range map[string]error{
		"one_stream": cluster.ErrOneStream, "log_unreadable": &cluster.Refused{Status: 500, Message: "is a directory"},
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			b, f := newFakeScheduler(), &files{err: err, reads: make(chan struct{}, 1)}
			b.queued = "t1"
			server := start(t, api.Options{Scheduler: b, Logs: f, Logger: slog.New(slog.DiscardHandler)})
			r, _ := follow(t, server.URL+"/api/task/t1/logs?stream=stderr&follow=true")
			b.place("t1", true)
			// A second read would block forever, because reads has no room.
			if rest, err := io.ReadAll(r); len(rest) > 0 || err == nil || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%q, %v", rest, err)
			}
			<-f.reads
			answer, text := call(t, server, "GET", "/api/task/t1/logs?stream=stderr&follow=true", "")
			if e := readError(t, answer, text); e.Error.Code != code {
				t.Errorf("asked again: %s", text)
			}
		})
	}
}

// TestFollowShowsThatOutputIsIncomplete: if the agent fails, the answer does not end as a complete one does.
func TestFollowShowsThatOutputIsIncomplete(t *testing.T) {
	t.Parallel()
	b, f := newFakeScheduler(), &files{}
	b.place("t1", true)
	f.set(stdout, "one\n")
	server := start(t, api.Options{Scheduler: b, Logs: f, Logger: slog.New(slog.DiscardHandler)})
	r, _ := follow(t, server.URL+"/api/task/t1/logs?follow=true")
	line(t, r, "one\n")
	f.mu.Lock()
	f.err = errors.New("connection refused")
	f.mu.Unlock()
	if _, err := io.ReadAll(r); err == nil {
		t.Error("the answer ended as if it were whole")
	}
}

// TestFollowEndsWithItsClient: the server stops reading when the client has disconnected.
func TestFollowEndsWithItsClient(t *testing.T) {
	t.Parallel()
	b, f := newFakeScheduler(), &files{}
	b.place("t1", true)
	f.set(stdout, "one\n")
	server := start(t, api.Options{Scheduler: b, Logs: f})
	r, leave := follow(t, server.URL+"/api/task/t1/logs?follow=true")
	line(t, r, "one\n")
	leave()
	server.Close() // waits for the handler
}

// TestFollowingEndsWithTheToken: a stream ends when its caller's token is no longer valid.
func TestFollowingEndsWithTheToken(t *testing.T) {
	t.Parallel()
	access := realAccess(t, auth.Options{})
	token(t, access, "other", auth.Admin)
	given := token(t, access, "given", auth.Viewer)
	b, f := newFakeScheduler(), &files{}
	b.place("t1", true)
	f.set(stdout, "one\n")
	server := start(t, api.Options{Scheduler: b, Logs: f, Access: access})
	r, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/api/task/t1/logs?follow=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+given)
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if one := make([]byte, 4); answer.StatusCode != 200 {
		t.Fatal(answer.Status)
	} else if _, err := io.ReadFull(answer.Body, one); err != nil || string(one) != "one\n" {
		t.Fatalf("%q, %v", one, err)
	}
	if err := access.RemoveToken(t.Context(), callerOfTests, "given"); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(answer.Body); err == nil || len(rest) > 0 {
		t.Errorf("got %q, %v: want the connection broken", rest, err)
	}
}
