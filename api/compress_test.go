package api_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// unzipped returns the decompressed text.
func unzipped(t *testing.T, text string) string {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(plain)
}

// manyJobs returns jobs with realistic documents.
func manyJobs(n int) *fakeScheduler {
	b := newFakeScheduler()
	for i := range n {
		c := jobs.Default()
		c.JobName, c.AppName, c.Cron, c.JobParameter = fmt.Sprintf("billing-%05d", i), fmt.Sprintf("app-%d", i%50),
			fmt.Sprintf("0 %d 3 * * ?", i%60), fmt.Sprint("customer=", i*7919)
		c.JobExecutionType, c.ShardingTotalCount, c.CPUCount, c.MemoryMB, c.Description = jobs.Transient, 1+i%5, 0.1,
			64, "makes the bills of one customer"
		b.jobs[c.JobName] = views.JobView{Config: c}
	}
	return b
}

// TestAnswersAreCompressed: long answers to reads are compressed for clients that accept gzip, and have the same
// content as without compression.
func TestAnswersAreCompressed(t *testing.T) {
	t.Parallel()
	b, f := manyJobs(20), &files{}
	b.place("t1", false)
	b.place("short", false)
	b.places["short"] = views.LogPlace{AgentURL: "http://agent:5051", Dir: "/short"}
	f.set(stdout, strings.Repeat("line\n", 50_000))
	f.set("/short/stdout", "line\n")
	server := start(t, api.Options{Scheduler: b, Logs: f, Artifact: oneArtifact(t, "there")})
	large := `{"jobName":"new","appName":"app-1","description":"` + strings.Repeat("x", 1500) + `"}`
	for _, c := range []struct {
		method, path, accept, body string
		compressed                 bool
	}{
		{"GET", "/api/job/jobs", "gzip", "", true},
		{"GET", "/api/job/jobs", "br, gzip;q=0.8", "", true},
		{"GET", "/api/job/jobs", "gzip;q=0", "", false},
		{"GET", "/api/job/jobs", "zstd, br", "", false},
		{"GET", "/api/job/jobs", "identity", "", false},
		{"GET", "/api/app/list", "gzip", "", false}, // too short
		{"GET", "/api/task/t1/logs", "gzip", "", true},
		{"GET", "/api/task/t1/logs?download=true&tail=1000", "gzip", "", false},
		{"GET", "/api/task/t1/logs?follow=true", "gzip", "", false},
		{"GET", "/api/task/short/logs", "gzip", "", false},
		{"GET", "/artifacts/there", "gzip", "", false},
		{"POST", "/api/job/register", "gzip", large, false},
	} {
		answer, text := call(t, server, c.method, c.path, c.body, "Accept-Encoding: "+c.accept)
		is := answer.Header.Get("Content-Encoding") == "gzip"
		if is != c.compressed {
			t.Errorf("%s %s with Accept-Encoding %s: compressed is %t", c.method, c.path, c.accept, is)
			continue
		}
		if !is {
			continue
		}
		_, plain := call(t, server, c.method, c.path, c.body, "Accept-Encoding: identity")
		if got := unzipped(t, text); got != plain || len(text) > len(plain)/3 ||
			!strings.Contains(answer.Header.Get("Vary"), "Accept-Encoding") {
			t.Errorf("%s: %d bytes of %d, %v", c.path, len(text), len(plain), answer.Header)
		}
	}
}

// TestAFollowerPassesOnWhatTheLeaderCompressed: a follower does not compress the answer a second time.
func TestAFollowerPassesOnWhatTheLeaderCompressed(t *testing.T) {
	t.Parallel()
	leads := manyJobs(20)
	leader := start(t, api.Options{Scheduler: leads})
	follower := &httptest.Server{URL: follower(t, strings.TrimPrefix(leader.URL, "http://"), api.Options{})}
	_, plain := call(t, leader, "GET", "/api/job/jobs", "", "Accept-Encoding: identity")
	answer, text := call(t, follower, "GET", "/api/job/jobs", "", "Accept-Encoding: gzip")
	if answer.Header.Get("Content-Encoding") != "gzip" || unzipped(t, text) != plain {
		t.Errorf("%d %v", answer.StatusCode, answer.Header)
	}
	if answer, text := call(t, follower, "GET", "/api/job/jobs", "",
		"Accept-Encoding: identity"); answer.Header.Get("Content-Encoding") != "" || text != plain {
		t.Errorf("%d %v", answer.StatusCode, answer.Header)
	}
}

// BenchmarkAnswers measures lists with and without compression, from the scheduler's view to the client.
func BenchmarkAnswers(b *testing.B) {
	server := api.New(api.Options{Scheduler: manyJobs(10_000), Access: noUsers{}})
	for _, accept := range []string{"identity", "gzip"} {
		b.Run(accept, func(b *testing.B) {
			size := 0
			for b.Loop() {
				r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/api/job/jobs", nil)
				r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey,
					&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}))
				r.Header.Set("Accept-Encoding", accept)
				w := httptest.NewRecorder()
				server.ServeHTTP(w, r)
				if w.Code != http.StatusOK {
					b.Fatal(w.Code, w.Body)
				}
				size = w.Body.Len()
			}
			b.ReportMetric(float64(size), "bytes")
		})
	}
}
