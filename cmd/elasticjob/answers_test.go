package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// serve starts a server and counts its requests.
func serve(t *testing.T, handle http.HandlerFunc) (url string, asked *atomic.Int32) {
	t.Helper()
	asked = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked.Add(1); handle(w, r) }))
	t.Cleanup(server.Close)
	return server.URL, asked
}

// refuses answers with an error in the API's format.
func refuses(w http.ResponseWriter, status int, code, message string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"code":%q,"message":%q}}`, code, message)
}

// TestOfSeveralNamesEachHasADocument: with several names, a program can tell each document from the next one.
func TestOfSeveralNamesEachHasADocument(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "{\"appName\": %q}", strings.Split(r.URL.Path, "/")[3])
	})
	for form, want := range map[string]string{
		"json": "{\"appName\":\"a\"}\n{\"appName\":\"b\"}\n",
		"yaml": "appName: a\n---\nappName: b\n",
	} {
		if got := newSession(t).ok("--server", server, "app", "disable", "a", "b", "-o", form); got != want {
			t.Errorf("%s: %q, want %q", form, got, want)
		}
	}
	if got := newSession(t).ok("--server", server, "app", "disable", "a", "-o",
		"json"); got != "{\n  \"appName\": \"a\"\n}\n" {
		t.Errorf("of one name: %q", got)
	}
}

// TestOutputThatCannotBeRead: each stream that cannot be read is an error, followed or not, and the other streams are
// still printed.
func TestOutputThatCannotBeRead(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/api/execution/j@1":
			fmt.Fprint(w, `{"state":"FINISHED","shards":[{"item":0,"taskId":"t0"},{"item":1,"taskId":"t1"}]}`)
		case r.URL.Path == "/api/task/t1/logs" && r.URL.Query().Get("stream") == "stderr":
			fmt.Fprint(w, "here\n")
		case strings.HasSuffix(r.URL.Path, "/logs"):
			refuses(w, http.StatusGone, "log_gone", "it is gone")
		default:
			<-r.Context().Done()
		}
	})
	for _, args := range [][]string{{"logs", "j@1"}, {"logs", "-f", "j@1"}} {
		s := newSession(t)
		a, _, said := s.cli("")
		a.err = &lockedWriter{w: said}
		status := a.run(s.Context(), append([]string{"--server", server}, args...))
		if err := said.String(); status != statusNotFound || strings.Count(err, "it is gone") != 3 ||
			!strings.Contains(err, "here") {
			t.Errorf("%v: status %d: %s: want three errors and one line", args, status, err)
		}
	}
}

// TestOutputOfAnAttempt: the output of an earlier attempt is that of its task.
func TestOutputOfAnAttempt(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/api/execution/j@1":
			fmt.Fprint(w, `{"state":"FINISHED","shards":[{"item":0,"taskId":"t2","attempt":2,"earlier":[{"attempt":1,"taskId":"t1"}]}]}`)
		case r.URL.Query().Get("stream") == "stdout":
			fmt.Fprintln(w, strings.Split(r.URL.Path, "/")[3])
		}
	})
	for attempt, want := range map[string]string{"0": "t2\n", "1": "t1\n", "2": "t2\n", "3": ""} {
		if got := newSession(t).ok("--server", server, "logs", "j@1", "--attempt", attempt); got != want {
			t.Errorf("%s: %q, want %q", attempt, got, want)
		}
	}
}

// TestOutputOfOneStream: if a cluster keeps stderr in stdout, both streams are printed once, and stderr alone is an
// error.
func TestOutputOfOneStream(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("stream") == "stderr" {
			refuses(w, http.StatusNotFound, "one_stream", "ask for stdout")
			return
		}
		fmt.Fprint(w, "here\n")
	})
	const task = "j@-@0@-@READY@-@a@-@1"
	for _, args := range [][]string{{"logs", task}, {"logs", "-f", task}, {"logs", "--tail", "1", task}} {
		if got := newSession(t).ok(append([]string{"--server", server}, args...)...); got != "here\n" {
			t.Errorf("%v: %q", args, got)
		}
	}
	a, _, said := newSession(t).cli("")
	if status := a.run(t.Context(), []string{"--server", server, "logs", "--stream", "stderr",
		task}); status != statusNotFound || !strings.Contains(said.String(), "ask for stdout") {
		t.Errorf("status %d: %s", status, said)
	}
}

// TestATriggerWhoseOutcomeIsUnknownSaysItsKey: the user needs the idempotency key to send the trigger again.
func TestATriggerWhoseOutcomeIsUnknownSaysItsKey(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	keys := make(chan string, 1)
	server, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		keys <- r.Header.Get("Idempotency-Key")
		interrupt()
		<-r.Context().Done()
	})
	a, _, said := newSession(t).cli("")
	if status := a.run(ctx, []string{"--server", server, "job", "trigger", "j"}); status != statusInterrupted {
		t.Errorf("status %d", status)
	}
	if want := "--key " + <-keys + " sends it again without a second run"; !strings.Contains(said.String(), want) {
		t.Errorf("%q, want %q in it", said.String(), want)
	}
}

// TestExplainTellsWhatKeepsARun: a shard that cannot start is not shown as running, and shards that ended badly are
// shown with the reason.
func TestExplainTellsWhatKeepsARun(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"jobName":"j","state":"WAITING","nextFires":[],"waiting":[],`+
			`"running":[{"executionId":"j@1","item":0,"taskId":"t0","state":"LAUNCHING","agent":"n1","since":"2026-05-01T11:59:00Z","reason":"ErrImagePull: no such image"}],`+
			`"ended":[{"executionId":"j@1","item":1,"taskId":"t1","state":"LOST","agent":"n2","reason":"its node is gone"},`+
			`{"executionId":"j@1","item":2,"taskId":"","state":"KILLED","agent":"","reason":"killed on request"}]}`)
	})
	got := newSession(t).ok("--server", server, "job", "explain", "j")
	for _, want := range []string{
		"j  WAITING: shards wait, and none runs\n", "j@1 shard 0: LAUNCHING on n1", "ErrImagePull: no such image",
		"j@1 shard 1: LOST on n2\n    its node is gone\n",
		"j@1 shard 2: KILLED\n    killed on request\n", // killed before it was launched
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q in:\n%s", want, got)
		}
	}
}
