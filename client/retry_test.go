package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/client"
)

// abort closes the connection without an answer.
func abort(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// TestWhatPasses checks that a read is retried after the errors of a server that restarts, or of a proxy in front of
// it, but not after permanent errors.
func TestWhatPasses(t *testing.T) {
	t.Parallel()
	page := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", status) }
	}
	refusal := func(code string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, http.StatusServiceUnavailable, code, "not now")
		}
	}
	for name, test := range map[string]struct {
		first     http.HandlerFunc
		isRetried bool
	}{
		"a proxy's 502":   {page(http.StatusBadGateway), true},
		"a proxy's 503":   {page(http.StatusServiceUnavailable), true},
		"a proxy's 504":   {page(http.StatusGatewayTimeout), true},
		"a proxy's 429":   {page(http.StatusTooManyRequests), true},
		"access_unknown":  {refusal("access_unknown"), true},
		"registry_silent": {refusal("registry_silent"), true},
		"registry_lost":   {refusal("registry_lost"), true},
		"term_ended":      {refusal("term_ended"), true},
		"a broken answer": {abort, true},
		"no_history":      {refusal("no_history"), false},
		"tls_differs":     {refusal("tls_differs"), false},
		"a fault":         {page(http.StatusInternalServerError), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if requests.Add(1) == 1 {
					test.first(w, r)
					return
				}
				fmt.Fprint(w, `[]`)
			})
			c.SetTimeouts(time.Hour, time.Hour)
			if _, err := c.Apps(t.Context()); (err == nil) != test.isRetried {
				t.Errorf("%v: want a retry: %t", err, test.isRetried)
			}
		})
	}
}

// TestATriggerWhoseOutcomeIsUnknownNamesItsKey checks that the error contains the key with which the trigger can be
// repeated.
func TestATriggerWhoseOutcomeIsUnknownNamesItsKey(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer  http.HandlerFunc
		unknown bool
	}{
		"unknown": {func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, http.StatusServiceUnavailable, "outcome_unknown", "look first")
		}, true},
		"broken":  {abort, true},
		"a proxy": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", http.StatusGatewayTimeout) }, true},
		"no leader": {func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, http.StatusServiceUnavailable, "no_leader", "nobody")
		}, false},
		"too many": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "", http.StatusTooManyRequests)
		}, false},
		"not found": {func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound, "job_not_found", "no") }, false},
		"forbidden": {func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusForbidden, "not_allowed", "no") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keys := make(chan string, 100)
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				keys <- r.Header.Get("Idempotency-Key")
				test.answer(w, r)
			})
			c.SetTimeouts(0, 0)
			_, err := c.TriggerJob(t.Context(), "j", client.Overrides{}, "")
			var unknown *client.UnknownError
			if err == nil || errors.As(err, &unknown) != test.unknown {
				t.Fatalf("%v: want an unknown outcome: %t", err, test.unknown)
			}
			if sent := <-keys; unknown != nil && unknown.Key != sent {
				t.Errorf("it was sent with %q, and the error has %q", sent, unknown.Key)
			}
		})
	}
}

// TestWhatWasPutOffIsSentAgain checks that after status 429 a request is retried at the time that the server names,
// even a write that would otherwise not be repeated, because 429 means that it was not carried out.
func TestWhatWasPutOffIsSentAgain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		retryAfter string
		sent       int32
	}{
		"at once":                {"0", 2},
		"later than the timeout": {"60", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if string(body) != `{"jobName":"j"}` {
					t.Errorf("the body is %q", body)
				}
				if requests.Add(1) == 1 {
					w.Header().Set("Retry-After", test.retryAfter)
					refuse(w, http.StatusTooManyRequests, "too_soon", "not now")
					return
				}
				fmt.Fprint(w, `{}`)
			})
			_, err := c.RegisterJob(t.Context(), json.RawMessage(`{"jobName":"j"}`))
			if client.HasCode(err, "too_soon") != (test.sent == 1) || requests.Load() != test.sent {
				t.Errorf("%v after %d requests: want %d", err, requests.Load(), test.sent)
			}
		})
	}
}

// TestAPutOffTriggerMayHaveMadeARun checks that the outcome is unknown if the server refuses only the second attempt.
func TestAPutOffTriggerMayHaveMadeARun(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) == 1 {
			abort(w, r)
		}
		w.Header().Set("Retry-After", "60")
		refuse(w, http.StatusTooManyRequests, "too_soon", "not now")
	})
	_, err := c.TriggerJob(t.Context(), "j", client.Overrides{}, "k")
	var unknown *client.UnknownError
	if !errors.As(err, &unknown) || requests.Load() != 2 {
		t.Errorf("%v after %d requests: want an unknown outcome after two", err, requests.Load())
	}
}

// TestATriggerOutlivesItsServer checks that a trigger that was sent is also retried while no server listens.
func TestATriggerOutlivesItsServer(t *testing.T) {
	t.Parallel()
	var stop func()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	server, requests := newServer(t, func(http.ResponseWriter, *http.Request) { stop() })
	stop = func() { _ = server.Listener.Close(); panic(http.ErrAbortHandler) }
	c := connect(t, client.Options{Server: server.URL})
	c.SetTimeouts(time.Second, 0)
	_, err := c.TriggerJob(ctx, "j", client.Overrides{}, "k")
	var unknown *client.UnknownError
	if !errors.As(err, &unknown) || !strings.Contains(err.Error(), "refused") || requests.Load() != 1 {
		t.Errorf("%v after %d requests: want retries after the server has stopped", err, requests.Load())
	}
	c.SetTimeouts(time.Hour, 0)
	if _, err := c.TriggerJob(ctx, "j", client.Overrides{}, "k"); err == nil || errors.As(err, &unknown) {
		t.Errorf("%v: want an error at once and without a key, because it was not sent", err)
	}
}

// TestAQuietStreamIsOpenedAgain checks that a stream that breaks is opened again, however long it was silent, that it
// continues where it broke, and that the bytes that were dropped meanwhile are reported.
func TestAQuietStreamIsOpenedAgain(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) == 1 {
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Elasticjob-Log-Offset", "70000")
		w.Header().Set("Elasticjob-Log-Size", "70006")
		_, _ = io.WriteString(w, "hello\n")
	})
	c.SetTimeouts(0, 0)
	var got strings.Builder
	var dropped int64
	if err := c.CopyLog(t.Context(), &got,
		client.Output{Task: "t", Follow: true, Dropped: func(n int64) { dropped += n }}); err != nil ||
		got.String() != "hello\n" || dropped != 70000 {
		t.Errorf("%q, %d dropped, %v: want what came after the connection broke", got.String(), dropped, err)
	}
}

// TestOnlyAServerThatHasAnsweredIsWaitedFor checks that the client does not wait for a server that has never answered,
// because its address may be wrong, and that the start of a wait is reported once.
func TestOnlyAServerThatHasAnsweredIsWaitedFor(t *testing.T) {
	t.Parallel()
	never := connect(t, client.Options{Server: "http://127.0.0.1:1",
		Waiting: func(error) { t.Error("the client waits") }})
	for _, err := range never.Watch(t.Context(), "x") {
		if err == nil {
			t.Error("an answer without a server")
		}
	}
	if err := never.CopyLog(t.Context(), io.Discard, client.Output{Task: "t", Follow: true}); err == nil {
		t.Error("output without a server")
	}
	var requests, waits atomic.Int32
	server, _ := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/events" {
			fmt.Fprint(w, "event: changed\ndata: {\"all\":true}\n\n")
			return
		}
		switch requests.Add(1) {
		case 1:
			fmt.Fprint(w, `{"state":"RUNNING"}`)
		case 2, 3:
			refuse(w, http.StatusServiceUnavailable, "no_leader", "no server leads")
		default:
			fmt.Fprint(w, `{"state":"FINISHED"}`)
		}
	})
	c := connect(t, client.Options{Server: server.URL, Waiting: func(error) { waits.Add(1) }})
	c.SetTimeouts(0, time.Hour)
	var last client.Execution
	for now, err := range c.Watch(t.Context(), "x") {
		if err != nil {
			t.Fatal(err)
		}
		last = now.Value
	}
	if !last.Ended() || waits.Load() != 1 {
		t.Errorf("%+v after %d reported waits: want the end, and one wait", last, waits.Load())
	}
}

// TestTheEndOfOutputIsReadAgain checks that ReadLog reads the output again if the connection breaks.
func TestTheEndOfOutputIsReadAgain(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Elasticjob-Log-Offset", "7")
		_, _ = io.WriteString(w, "one\n")
		if requests.Add(1) == 1 {
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, "two\n")
	})
	text, offset, err := c.ReadLog(t.Context(), client.Output{Task: "t", Tail: 100})
	if err != nil || string(text) != "one\ntwo\n" || offset != 7 {
		t.Errorf("%q at %d, %v", text, offset, err)
	}
}
