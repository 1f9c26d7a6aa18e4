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
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// serve runs Serve until stop; ended has what it returned.
func serve(t *testing.T, opts api.Options) (url string, stop context.CancelFunc, ended <-chan error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
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

// TestShutdownEndsFollowersAndWaitsForTheRest.
func TestShutdownEndsFollowersAndWaitsForTheRest(t *testing.T) {
	t.Parallel()
	b, f := newFakeScheduler(), &files{}
	b.place("t1", true)
	f.set(stdout, "one\n")
	begun, finish := make(chan struct{}), make(chan struct{})
	b.explain = func(context.Context, string) (core.Explanation, error) {
		close(begun)
		<-finish
		return core.Explanation{JobName: "my_job"}, nil
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

// TestShutdownHasADeadline: a request that does not end is cut off, and waited for.
func TestShutdownHasADeadline(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	begun, over := make(chan struct{}), make(chan struct{})
	b.explain = func(ctx context.Context, _ string) (core.Explanation, error) {
		close(begun)
		<-ctx.Done()
		close(over)
		return core.Explanation{}, ctx.Err()
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
	_ = await(t, "the request", answered) // cut off or answered with an error: both may be
}

func TestServeRefusesOtherMachines(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := api.New(api.Options{Scheduler: newFakeScheduler()}).Serve(t.Context(), l); err == nil || !strings.Contains(err.Error(), "other machines") {
		t.Error(err)
	}
	if _, err := l.Accept(); err == nil {
		t.Error("the listener is open")
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
