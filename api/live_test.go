package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/test/eventually"
)

// watchedBy returns a scheduler that leads, with jobs of two apps and its event stream.
func watchedBy() *fakeScheduler {
	b := newFakeScheduler()
	b.watch = newWatching(noon, map[string][]string{"mine": {"my_job"}, "theirs": {"their_job"}})
	b.streams = true
	b.follows("leader:1", true)
	return b
}

// sentEvent is one server-sent event.
type sentEvent struct{ name, data string }

// eventsOf follows a server's events until the test ends. The channel is closed when the stream ends.
func eventsOf(t *testing.T, url string, headers ...string) <-chan sentEvent {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/api/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	r.Close = true
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" {
		t.Fatalf("%d %v", answer.StatusCode, answer.Header)
	}
	out := make(chan sentEvent)
	ended := make(chan struct{})
	t.Cleanup(func() {
		stop()
		<-ended
	})
	go func() {
		defer close(ended)
		defer close(out)
		defer func() { _ = answer.Body.Close() }()
		var e sentEvent
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			switch name, value, _ := strings.Cut(lines.Text(), ": "); name {
			case "event":
				e.name = value
			case "data":
				e.data = value
			case "":
				if e.name != "" {
					select {
					case out <- e:
					case <-ctx.Done():
						return
					}
				}
				e = sentEvent{}
			}
		}
	}()
	return out
}

// next returns the next event of a name and skips all others.
func next(t *testing.T, events <-chan sentEvent, name string) map[string]any {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		select {
		case e, ok := <-events:
			if !ok {
				t.Fatalf("the stream has ended before %s", name)
			}
			if e.name != name {
				continue
			}
			var data map[string]any
			if err := json.Unmarshal([]byte(e.data), &data); err != nil {
				t.Fatalf("%s: %v in %s", name, err, e.data)
			}
			return data
		case <-deadline:
			t.Fatalf("no %s", name)
		}
	}
}

// runs keeps the view up to date, as a leader's term does, until the returned function is called.
func (w *watching) runs(t *testing.T) (end func()) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.view.Run(ctx)
	}()
	end = func() {
		stop()
		<-done
	}
	t.Cleanup(end)
	return end
}

func TestEventStreams(t *testing.T) {
	t.Parallel()
	b := watchedBy()
	end := b.watch.runs(t)
	server := start(t, api.Options{Scheduler: b, Version: "1.2.3"})
	follower := newFakeScheduler()
	follower.follows(strings.TrimPrefix(server.URL, "http://"), false)
	for _, c := range []struct{ name, url string }{{"of the leader", server.URL},
		{"through a follower", followerOf(t, follower, api.Options{})}} { // the last one sees the end
		name, url := c.name, c.url
		events := eventsOf(t, url)
		if hello := next(t, events, "hello"); hello["leader"] != "leader:1" || hello["version"] != "1.2.3" ||
			hello["term"] != 1.0 {
			t.Errorf("%s: hello %v", name, hello)
		}
		if sum := next(t, events, "summary"); sum["apps"] != 2.0 || sum["subscribed"] != false {
			t.Errorf("%s: summary %v", name, sum)
		}
		b.watch.happens(noon, core.Request{Token: 1, Event: operator.TriggerRequested{Job: "my_job"}})
		b.watch.happens(noon, core.Request{Token: 2,
			Event: operator.PauseRequested{Job: "my_job", Paused: name == "of the leader"}})
		for found := false; !found; { // changes from before the stream may come first
			jobs, _ := next(t, events, "changed")["jobs"].([]any)
			found = slices.Contains(jobs, any("my_job"))
		}
		next(t, events, "summary")
		if name != "of the leader" {
			end()
			for range events { // until the stream ends with the term
			}
		}
	}
}

func TestEventStreamsOfSomeApps(t *testing.T) {
	t.Parallel()
	access := realAccess(t, auth.Options{})
	b := watchedBy()
	b.watch.runs(t)
	server := start(t, api.Options{Scheduler: b, Access: access, Version: "1.2.3"})
	mine := "Authorization: Bearer " + token(t, access, "mine", auth.Viewer, "mine")
	events := eventsOf(t, server.URL, mine)
	if hello := next(t, events, "hello"); hello["leader"] != "" || hello["version"] != "" {
		t.Errorf("hello %v", hello)
	}
	if sum := next(t, events, "summary"); sum["apps"] != 1.0 || sum["agents"] != nil || sum["subscribed"] != nil {
		t.Errorf("summary %v", sum)
	}
	b.watch.happens(noon, core.Request{Token: 1, Event: operator.PauseRequested{Job: "their_job", Paused: true}})
	b.watch.happens(noon, core.Request{Token: 1, Event: operator.PauseRequested{Job: "my_job", Paused: true}})
	for {
		changed := next(t, events, "changed")
		jobs, _ := changed["jobs"].([]any)
		if slices.Contains(jobs, any("their_job")) || changed["cluster"] != false {
			t.Errorf("%v", changed)
		}
		if slices.Contains(jobs, any("my_job")) {
			break
		}
	}
	if _, text := call(t, server, "GET", "/api/jobs", "", mine); !strings.Contains(text, `"my_job"`) ||
		strings.Contains(text, "their_job") || !strings.Contains(text, `"total":1`) {
		t.Errorf("jobs: %s", text)
	}
	if _, text := call(t, server, "GET", "/api/overview", "", mine); strings.Contains(text, "leader:1") ||
		strings.Contains(text, "1.2.3") || !strings.Contains(text, `"problems":[]`) ||
		!strings.Contains(text, `"agents":null`) {
		t.Errorf("overview: %s", text)
	}
}

// TestStreamsAreBounded: beyond MaxStreams no stream of events or of output is opened, and each stream that ends makes
// room for another. A stream that a follower forwards from the leader counts too.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	b, f := watchedBy(), &files{}
	b.place("t1", true)
	f.set(stdout, "one\n")
	leader := serveUntilEnd(t, api.Options{Scheduler: b, Logs: f, MaxStreams: 2, FollowInterval: time.Millisecond})
	standby := newFakeScheduler()
	standby.follows(addressOf(leader), false)
	follower := followerOf(t, standby, api.Options{MaxStreams: 1})
	full := func(url string) error {
		answer, text := ask(t, "GET", url, "")
		if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") != "15" ||
			!strings.Contains(text, "too_many_streams") {
			return fmt.Errorf("%d %v %s", answer.StatusCode, answer.Header, text)
		}
		return nil
	}
	for _, path := range []string{"/api/events", "/api/task/t1/logs?follow=true"} {
		passedOn, leave := follow(t, follower+path)
		own, leaveLeader := follow(t, leader+path)
		for _, r := range []io.Reader{passedOn, own} {
			if _, err := io.ReadFull(r, make([]byte, 4)); err != nil {
				t.Fatal(err)
			}
		}
		for _, url := range []string{follower + path, leader + path} {
			if err := full(url); err != nil {
				t.Errorf("%s: %v", url, err)
			}
		}
		leave()
		eventually.Works(t, "there is room again", func() error {
			r, err := http.NewRequestWithContext(t.Context(), "GET", follower+path, nil)
			if err != nil {
				return err
			}
			r.Close = true
			answer, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				return err
			}
			defer func() { _ = answer.Body.Close() }()
			if answer.StatusCode != http.StatusOK {
				return errors.New(answer.Status)
			}
			return nil
		})
		leaveLeader()
	}
	if answer, text := ask(t, "GET", leader+"/api/task/t1/logs", ""); answer.StatusCode != http.StatusOK ||
		text != "one\n" {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
}

func TestJobPageRefusesWrongQueries(t *testing.T) {
	t.Parallel()
	server := start(t, api.Options{Scheduler: watchedBy()})
	for query, field := range map[string]string{
		"state=READY,BUSY": "state", "last=RUNNING": "last", "sort=cron": "sort", "order=UP": "order",
		"page=0": "page", "per_page=501": "per_page",
		"type=CRON": "type", "search=" + strings.Repeat("x", 501): "search", "limit=1": "limit",
	} {
		answer, text := call(t, server, "GET", "/api/jobs?"+query, "")
		if answer.StatusCode != http.StatusBadRequest || !strings.Contains(text, `"field":"`+field+`"`) {
			t.Errorf("%s: %d %s", query, answer.StatusCode, text)
		}
	}
	if answer, text := call(t, server, "GET",
		"/api/jobs?search=JOB&app=mine&type=TRANSIENT&state=ON_TRIGGER&sort=nextFire&order=DESC&page=1&per_page=1",
		""); answer.StatusCode != http.StatusOK ||
		!strings.Contains(text, `{"total":1,"byState":{"ON_TRIGGER":1},"rows":[{"jobName":"my_job"`) ||
		!strings.Contains(text, `"lastRun":null,"failures":0,"runs":[]}]}`) {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
}

// TestOverviewTellsTheZone requests the overview as the console does, which shows the fire times of jobs without a
// timeZone in that zone.
func TestOverviewTellsTheZone(t *testing.T) {
	t.Parallel()
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	for want, zone := range map[string]*time.Location{"Asia/Shanghai": shanghai, "UTC": nil, "": time.Local} {
		server := start(t, api.Options{Scheduler: watchedBy(), Zone: zone})
		if _, text := call(t, server, "GET", "/api/overview", ""); !strings.Contains(text, `"timeZone":"`+want+`"`) {
			t.Errorf("zone %v, want %q: %s", zone, want, text)
		}
	}
}

func TestOverviewWarns(t *testing.T) {
	t.Parallel()
	server := start(t, api.Options{Scheduler: watchedBy(),
		Warning: func() string { return "the disk is nearly full" }})
	_, text := call(t, server, "GET", "/api/overview", "")
	var o struct {
		Problems []struct{ Kind, Severity, Message string }
		Total    int `json:"problemsTotal"`
		Leader   struct{ Address string }
	}
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	if o.Total != 2 || len(o.Problems) != 2 || o.Problems[0].Kind != "NOT_SUBSCRIBED" ||
		o.Problems[1].Kind != "WARNING" || o.Problems[1].Message != "the disk is nearly full" ||
		o.Leader.Address != "leader:1" {
		t.Errorf("%s", text)
	}
}
