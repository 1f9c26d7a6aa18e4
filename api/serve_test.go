package api_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// serve runs Serve until stop is called; ended receives its result.
func serve(t *testing.T, opts api.Options) (url string, stop context.CancelFunc, ended <-chan error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if opts.Access == nil {
		opts.Access = noUsers{}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- api.New(opts).Serve(ctx, l) }()
	t.Cleanup(cancel)
	return "http://" + l.Addr().String(), cancel, done
}

func await(t *testing.T, what string, ended <-chan error) error {
	t.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal(what + " did not end")
		return nil
	}
}

// TestShutdownEndsFollowersAndWaitsForTheRest: at the shutdown streams end and other requests are completed.
func TestShutdownEndsFollowersAndWaitsForTheRest(t *testing.T) {
	t.Parallel()
	b, f := newFakeScheduler(), &files{}
	b.place("t1", true)
	f.set(stdout, "one\n")
	begun, finish := make(chan struct{}), make(chan struct{})
	b.explain = func(context.Context, string) (views.Explanation, error) {
		close(begun)
		<-finish
		return views.Explanation{JobName: "my_job"}, nil
	}
	url, stop, ended := serve(t, api.Options{Scheduler: b, Logs: f})
	follower, _ := follow(t, url+"/api/task/t1/logs?follow=true")
	line(t, follower, "one\n")
	slow, answered := make(chan string, 1), make(chan error, 1)
	go func() {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		answer, err := client.Get(url + "/api/job/my_job/explain")
		if err == nil {
			var text []byte
			text, err = io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			slow <- string(text)
		}
		answered <- err
	}()
	<-begun
	stop()
	if rest, err := io.ReadAll(follower); err == nil || len(rest) > 0 {
		t.Errorf("the follower got %q, %v: want the connection broken, as the task goes on", rest, err)
	}
	select {
	case err := <-ended:
		t.Fatalf("ended with a request under way: %v", err)
	default:
	}
	close(finish)
	if err := await(t, "the request", answered); err != nil || !strings.Contains(<-slow, "my_job") {
		t.Error(err)
	}
	if err := await(t, "the server", ended); err != nil {
		t.Error(err)
	}
}

// TestShutdownHasADeadline: a request that does not end in time is cut off, and Serve waits for its handler.
func TestShutdownHasADeadline(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	begun, over := make(chan struct{}), make(chan struct{})
	b.explain = func(ctx context.Context, _ string) (views.Explanation, error) {
		close(begun)
		<-ctx.Done()
		close(over)
		return views.Explanation{}, ctx.Err()
	}
	url, stop, ended := serve(t, api.Options{Scheduler: b, ShutdownGrace: 10 * time.Millisecond})
	answered := make(chan error, 1)
	go func() {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		answer, err := client.Get(url + "/api/job/my_job/explain")
		if err == nil {
			_ = answer.Body.Close()
		}
		answered <- err
	}()
	<-begun
	stop()
	if err := await(t, "the server", ended); err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Error(err)
	}
	select {
	case <-over:
	default:
		t.Error("the handler was not waited for")
	}
	_ = await(t, "the request", answered) // either cut off or answered with an error
}

// TestOtherMachinesNeedUsers: while there are no users, an address that other machines can reach serves only open
// routes, under every host name and to every client.
func TestOtherMachinesNeedUsers(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	b := newFakeScheduler()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- api.New(api.Options{Scheduler: b, Access: noUsers{}}).Serve(ctx, l) }()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	url := "http://127.0.0.1:" + port
	for _, c := range []struct {
		route  string
		status int
		code   string
	}{
		{"GET /healthz", 200, ""}, {"GET /readyz", 200, ""}, {"GET /", 200, ""}, {"GET /artifacts/none", 404, "artifact_not_found"},
		{"GET /api/app/list", 403, "no_users"}, {"POST /api/app", 403, "no_users"}, {"GET /metrics", 403, "no_users"}, {"POST /api/users", 403, "no_users"},
		{"GET /none", 403, "no_users"}, {"GET /api/session", 403, "no_users"},
	} {
		for _, host := range []string{"127.0.0.1:" + port, "any.example"} {
			method, path, _ := strings.Cut(c.route, " ")
			answer, text := ask(t, method, url+path, "", "Host: "+host)
			if answer.StatusCode != c.status || c.code != "" && readError(t, answer, text).Error.Code != c.code {
				t.Errorf("%s of %s: %d %s", c.route, host, answer.StatusCode, text)
			}
			if (c.code == "no_users" || path == "/") && !strings.Contains(text,
				"scheduler user add NAME --role admin") {
				t.Errorf("%s does not say what to type: %s", c.route, text)
			}
		}
	}
	stop()
	if err := await(t, "the server", ended); err != nil || b.changed() != 0 {
		t.Error(err)
	}
}

func TestServeTellsOfALostListener(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := api.New(api.Options{Scheduler: newFakeScheduler()}).Serve(t.Context(), l); err == nil {
		t.Error("no error")
	}
}
