package client_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/client"
)

// serve starts a server with a handler and returns a client of it.
func serve(t *testing.T, handle http.HandlerFunc) *client.Client {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return connect(t, client.Options{Server: server.URL, Token: "ejt_secret"})
}

// newServer starts a server that counts its requests.
func newServer(t *testing.T, handle http.HandlerFunc) (*httptest.Server, *atomic.Int32) {
	t.Helper()
	requests := &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		handle(w, r)
	}))
	t.Cleanup(server.Close)
	return server, requests
}

// connect returns a client, which is closed at the end of the test.
func connect(t *testing.T, o client.Options) *client.Client {
	t.Helper()
	c, err := client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// refuse answers as a server does that refuses a request.
func refuse(w http.ResponseWriter, status int, code, message string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"code":%q,"message":%q,"fields":[{"field":"cron","value":"x","message":"no cron"}]}}`,
		code, message)
}

func TestARefusalHasItsCodeAndFields(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusUnprocessableEntity, "invalid", "no")
	})
	_, err := c.RegisterJob(t.Context(), json.RawMessage(`{}`))
	var refused *client.Error
	if !errors.As(err, &refused) {
		t.Fatalf("%v: want a refusal", err)
	}
	want := &client.Error{Status: 422, Code: "invalid", Message: "no",
		Fields: []client.Field{{Field: "cron", Value: "x", Message: "no cron"}}}
	if diff := cmp.Diff(want, refused); diff != "" {
		t.Error(diff)
	}
}

func TestAServerThatIsNoSchedulerIsRecognized(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"a page":  {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, "does not answer like a scheduler"},
		"a proxy": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "bad gateway", http.StatusBadGateway) }, "502 Bad Gateway, and not a scheduler's: bad gateway"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://me:secret@jobs.example.com/below"+r.URL.Path+"?x", http.StatusFound)
		}, "redirects to https://jobs.example.com/below: give that URL"},
		"a redirect to nowhere": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusFound) }, "302 Found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := serve(t, test.answer).ActOnJob(t.Context(), "j", client.Pause) // which is sent once
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v: want %q in it", err, test.want)
			}
		})
	}
}

func TestAServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	https := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(https.Close)
	http1 := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(http1.Close)
	for name, test := range map[string]struct{ server, want string }{
		"no listener":              {"127.0.0.1:1", "check that the server is running"},
		"another certificate":      {https.URL, "--ca"},
		"https for an http server": {strings.Replace(http1.URL, "http:", "https:", 1), "it speaks http"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := connect(t, client.Options{Server: test.server}).Apps(t.Context())
			var away *client.UnreachableError
			if !errors.As(err, &away) || !strings.Contains(err.Error(), test.want) ||
				!strings.Contains(err.Error(), test.server) {
				t.Errorf("%v: want the server's name and %q in it", err, test.want)
			}
		})
	}
}

func TestAPrivateCertificateAuthority(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `[]`)
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := connect(t, client.Options{Server: server.URL, CAFile: file}).Apps(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestATriggerIsSentAgainWithItsKey checks that a retry has the same key, so that a server that has already accepted
// the trigger makes no second run.
func TestATriggerIsSentAgainWithItsKey(t *testing.T) {
	t.Parallel()
	var keys []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if keys = append(keys, r.Header.Get("Idempotency-Key")); len(keys) == 1 {
			refuse(w, http.StatusServiceUnavailable, "outcome_unknown", "look first")
			return
		}
		fmt.Fprint(w, `{"executionId":"x"}`)
	})
	made, err := c.TriggerJob(t.Context(), "j", client.Overrides{}, "")
	if err != nil || made.Value.ExecutionID != "x" || len(keys) != 2 || keys[0] == "" || keys[0] != keys[1] {
		t.Errorf("%+v, %v, with the keys %q: want one key, sent twice", made.Value, err, keys)
	}
}

func TestAChangeIsSentOnce(t *testing.T) {
	t.Parallel()
	var sent atomic.Int32
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		sent.Add(1)
		refuse(w, http.StatusServiceUnavailable, "outcome_unknown", "look first")
	})
	if _, err := c.DeleteJob(t.Context(), "j"); !client.HasCode(err, "outcome_unknown") || sent.Load() != 1 {
		t.Errorf("%v after %d requests: want outcome_unknown after one", err, sent.Load())
	}
}

func TestNamesThatLeadToOtherRoutes(t *testing.T) {
	t.Parallel()
	var got string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) { got = r.URL.EscapedPath(); fmt.Fprint(w, `{}`) })
	for _, name := range []string{"", ".", ".."} {
		if _, err := c.DeleteApp(t.Context(), name, false); err == nil || got != "" {
			t.Errorf("the name %q was sent as %s", name, got)
		}
	}
	if _, err := c.DeleteApp(t.Context(), "a/../b?x", false); err != nil || got != "/api/app/a%2F..%2Fb%3Fx" {
		t.Errorf("%s, %v: want the name as one segment", got, err)
	}
}

func TestServersURLs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                         "http://127.0.0.1:8899",
		"jobs:8899":                "http://jobs:8899",
		"https://jobs/below/?x#y":  "https://jobs/below",
		"ftp://jobs":               "",
		"http://":                  "",
		"https://me:secret@jobs":   "",
		"http://[::1]:8899":        "http://[::1]:8899",
		"http://jobs.example.com/": "http://jobs.example.com",
	} {
		got, err := client.ParseServer(text)
		if want == "" {
			if err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("%q: %v, %v: want an error without a password", text, got, err)
			}
		} else if err != nil || got.String() != want {
			t.Errorf("%q: %v, %v: want %s", text, got, err, want)
		}
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("accessToken") != "ejt_secret" {
			t.Error("the token is missing")
		}
		fmt.Fprint(w, "event: hello\ndata: {\"term\":1}\n\n: a comment\n\nevent: changed\ndata: {\"jobs\":\ndata: [\"a\"]}\n\n")
	})
	var got []string
	for e, err := range c.Events(t.Context()) {
		if err != nil {
			got = append(got, "end")
			break
		}
		got = append(got, e.Name+" "+string(e.Data))
	}
	if diff := cmp.Diff([]string{`hello {"term":1}`, `changed {"jobs":["a"]}`, "end"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestWatchGivesEachChangeOnce checks that Watch yields each change once, after an event, and ends with the execution.
func TestWatchGivesEachChangeOnce(t *testing.T) {
	t.Parallel()
	var state atomic.Int32
	requested := make(chan struct{}, 100)
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/events" {
			for range 3 {
				select {
				case <-requested:
				case <-r.Context().Done():
					return
				}
				state.Add(1)
				fmt.Fprint(w, "event: changed\ndata: {\"executions\":[\"other\",\"x\"]}\n\n")
				w.(http.Flusher).Flush()
			}
			return
		}
		fmt.Fprintf(w, `{"executionId":"x","state":%q}`,
			[]string{"WAITING", "WAITING", "RUNNING", "FINISHED"}[state.Load()])
		requested <- struct{}{}
	})
	var got []string
	for now, err := range c.Watch(t.Context(), "x") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, now.Value.State)
	}
	if last := got[len(got)-1]; last != "FINISHED" || len(got) > 3 {
		t.Errorf("%q: want each state once, with FINISHED at the end", got)
	}
}

// TestOutputGoesOnWhereAConnectionBroke checks that after a broken connection no output is lost or repeated.
func TestOutputGoesOnWhereAConnectionBroke(t *testing.T) {
	t.Parallel()
	const text = "one\ntwo\nthree\n"
	var queries []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		queries = append(queries, r.URL.RawQuery)
		var from int
		if offset := r.URL.Query().Get("offset"); offset != "" {
			_, _ = fmt.Sscan(offset, &from)
		}
		w.Header().Set("Elasticjob-Log-Offset", fmt.Sprint(from))
		w.Header().Set("Elasticjob-Log-Size", fmt.Sprint(len(text)))
		if len(queries) == 1 {
			_, _ = io.WriteString(w, text[:6])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, text[from:])
	})
	var got strings.Builder
	if err := c.CopyLog(t.Context(), &got, client.Output{Task: "t", Follow: true}); err != nil ||
		got.String() != text {
		t.Errorf("%q, %v: want %q; the queries are %q", got.String(), err, text, queries)
	}
	got.Reset()
	queries = nil
	if err := c.CopyLog(t.Context(), &got, client.Output{Task: "t"}); err == nil {
		t.Error("no error for output that was cut off and is not followed")
	}
}

// TestWhatCannotBeWrittenEndsTheCopy checks that an error of the writer ends CopyLog.
func TestWhatCannotBeWrittenEndsTheCopy(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") })
	full := errors.New("the disk is full")
	err := c.CopyLog(t.Context(), failingWriter{full}, client.Output{Task: "t", Follow: true})
	if !errors.Is(err, full) {
		t.Errorf("%v: want %v", err, full)
	}
}

// failingWriter is a writer that returns an error.
type failingWriter struct{ err error }

func (f failingWriter) Write([]byte) (int, error) { return 0, f.err }

func TestAnInterruptEndsWhatWaits(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/execution/x" {
			fmt.Fprint(w, `{"state":"RUNNING"}`)
			return
		}
		cancel()
		<-r.Context().Done()
	})
	var last error
	for _, err := range c.Watch(ctx, "x") {
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("%v: want %v", last, context.Canceled)
	}
}
