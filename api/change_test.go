package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/scheduler"
)

// frozen is a leader that accepts requests and never answers. came receives each request.
func frozen(t *testing.T) (address string, came <-chan string) {
	t.Helper()
	got, end := make(chan string, 100), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		got <- r.Method + " " + r.URL.Path
		<-end
	}))
	t.Cleanup(func() {
		close(end)
		server.Close()
	})
	return addressOf(server.URL), got
}

type answered struct {
	*http.Response
	text string
}

// askBeside is ask in a goroutine.
func askBeside(t *testing.T, method, url, body string) <-chan answered {
	t.Helper()
	done := make(chan answered, 1)
	go func() {
		answer, text := ask(t, method, url, body)
		done <- answered{answer, text}
	}()
	return done
}

// TestAFrozenLeaderIsLeftForTheNext: a follower does not wait for a server that has lost the leadership. A write that
// may have been carried out is never sent to the next leader (rule T3).
func TestAFrozenLeaderIsLeftForTheNext(t *testing.T) {
	t.Parallel()
	for name, itself := range map[string]bool{"another server": false, "this server": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			next := newFakeScheduler()
			nextURL := serveUntilEnd(t, api.Options{Scheduler: next})
			address, came := frozen(t)
			b := newFakeScheduler()
			b.follows(address, false)
			here := followerOf(t, b, api.Options{ForwardTimeout: time.Minute})
			read := askBeside(t, "GET", here+"/api/app/list", "")
			write := askBeside(t, "POST", here+"/api/app", appDocument)
			<-came
			<-came
			if itself {
				b.follows("follower:1", false) // it takes over
				b.follows("follower:1", true)
				next = b
			} else {
				b.follows(addressOf(nextURL), false)
			}
			if a := <-read; a.StatusCode != 200 || a.text != "[]\n" {
				t.Errorf("read: %d %s", a.StatusCode, a.text)
			}
			a := <-write
			if e := readError(t, a.Response, a.text); a.StatusCode != 503 || e.Error.Code != "outcome_unknown" ||
				next.changed() != 0 {
				t.Errorf("write: %d %s, %d changes at the next", a.StatusCode, a.text, next.changed())
			}
		})
	}
}

// moved is a scheduler that names another leader after the first question.
type moved struct {
	*fakeScheduler
	to string
}

func (m moved) Leader() (scheduler.LeaderView, bool) {
	l, ok := m.fakeScheduler.Leader()
	m.follows(m.to, false)
	return l, ok
}

// TestAWriteThatWasNotSentGoesToTheNextLeader: the first leader no longer listens.
func TestAWriteThatWasNotSentGoesToTheNextLeader(t *testing.T) {
	t.Parallel()
	next := newFakeScheduler()
	dead := httptest.NewServer(nil)
	dead.Close()
	b := moved{newFakeScheduler(), addressOf(serveUntilEnd(t, api.Options{Scheduler: next}))}
	b.follows(addressOf(dead.URL), false)
	here := serveUntilEnd(t, api.Options{Scheduler: b, Advertise: "follower:1"})
	if answer, text := ask(t, "POST", here+"/api/app", appDocument); answer.StatusCode != 200 || next.changed() != 1 {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
}

// watched is a scheduler that reports which leader it has named.
type watched struct {
	*fakeScheduler
	named chan string
}

func (w watched) Leader() (scheduler.LeaderView, bool) {
	l, ok := w.fakeScheduler.Leader()
	w.named <- l.Address
	return l, ok
}

// TestALateAnswerCounts: a server that has just handed over leadership may still answer a write that it received
// before.
func TestALateAnswerCounts(t *testing.T) {
	t.Parallel()
	came, proceed := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(came)
		<-proceed
		_, _ = io.WriteString(w, "done")
	}))
	t.Cleanup(server.Close)
	b := watched{newFakeScheduler(), make(chan string, 1000)}
	b.follows(addressOf(server.URL), false)
	here := serveUntilEnd(t, api.Options{Scheduler: b, Advertise: "follower:1", AnswerGrace: time.Minute})
	write := askBeside(t, "POST", here+"/api/app", appDocument)
	<-came
	b.follows("next:1", false)
	for <-b.named != "next:1" { // then the follower knows the new leader
	}
	close(proceed)
	if a := <-write; a.StatusCode != 200 || a.text != "done" {
		t.Errorf("%d %s", a.StatusCode, a.text)
	}
}

// TestForwardedRequestTimesOut: the leader keeps the leadership and does not answer.
func TestForwardedRequestTimesOut(t *testing.T) {
	t.Parallel()
	address, _ := frozen(t)
	here := follower(t, address, api.Options{ForwardTimeout: time.Second})
	for request, want := range map[string]string{
		"GET /api/app/list": "timeout", "GET /api/task/t1/logs?follow=true": "timeout",
		"POST /api/app": "outcome_unknown",
	} {
		method, path, _ := strings.Cut(request, " ")
		answer, text := ask(t, method, here+path, "")
		if e := readError(t, answer, text); answer.StatusCode != 503 || e.Error.Code != want ||
			!strings.Contains(text, address) {
			t.Errorf("%s: %d %s", request, answer.StatusCode, text)
		}
	}
}

// TestFollowedOutputBreaksOff: while the task still runs, followed output breaks off; a clean end would mean that the
// task has ended.
func TestFollowedOutputBreaksOff(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(leads, follows *fakeScheduler, stop func()){
		"the leader leads no more":    func(leads, _ *fakeScheduler, _ func()) { leads.resign() },
		"another one leads":           func(_, follows *fakeScheduler, _ func()) { follows.follows("next:1", false) },
		"the leader's server ends":    func(_, _ *fakeScheduler, stop func()) { stop() },
		"the follower's server ends*": func(_, _ *fakeScheduler, stop func()) { stop() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, f, between := newFakeScheduler(), &files{}, newFakeScheduler()
			b.place("t1", true)
			f.set(stdout, "one\n")
			leader, stop, ended := serve(t, api.Options{Scheduler: b, Logs: f, FollowInterval: time.Millisecond})
			between.follows(addressOf(leader), false)
			here, stopHere, endedHere := serve(t,
				api.Options{Scheduler: between, Logs: &files{}, Advertise: "follower:1"})
			out, _ := follow(t, here+"/api/task/t1/logs?follow=true")
			line(t, out, "one\n")
			if strings.HasSuffix(name, "*") {
				end(b, between, stopHere)
			} else {
				end(b, between, stop)
			}
			if rest, err := io.ReadAll(out); err == nil || len(rest) > 0 {
				t.Errorf("the end: %q, %v", rest, err)
			}
			stop()
			stopHere()
			for _, over := range []<-chan error{ended, endedHere} {
				if err := await(t, "a server", over); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestTokensThatDiffer: the error names the differing tokens and does not blame the client.
func TestTokensThatDiffer(t *testing.T) {
	t.Parallel()
	leader := serveUntilEnd(t, api.Options{Scheduler: newFakeScheduler(), Access: oneToken("one")})
	here := follower(t, addressOf(leader), api.Options{Access: oneToken("two")})
	answer, text := ask(t, "GET", here+"/api/app/list", "", "Authorization: Bearer two")
	if e := readError(t, answer, text); answer.StatusCode != 503 || e.Error.Code != "token_differs" ||
		!strings.Contains(text, addressOf(leader)) ||
		answer.Header.Get("WWW-Authenticate") != "" {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
}
