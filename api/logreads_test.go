package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/api/logs"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// TestPartsOfLogs: which part of the output an answer has, and what its headers say.
func TestPartsOfLogs(t *testing.T) {
	t.Parallel()
	b, f := newFakeScheduler(), &files{}
	b.place("over", false)
	b.place("live", true)
	text := "one\ntwo\nthree"
	long := strings.Repeat("x", 1<<20) + "\nlast\n" // a line of 1 MiB
	f.set(stdout, text)
	f.set(stderr, long)
	server := start(t, api.Options{Scheduler: b, Logs: f})
	for _, c := range []struct{ query, want, offset, size string }{
		{"", text, "0", "13"},
		{"?tail=5", text[8:], "8", "13"},   // a line begins there
		{"?tail=6", text[8:], "8", "13"},   // the end of the line before is left out
		{"?tail=7", text[8:], "8", "13"},   // and so is a part of that line
		{"?tail=3", text[10:], "10", "13"}, // no line begins there
		{"?tail=13", text, "0", "13"},
		{"?tail=99", text, "0", "13"},
		{"?tail=0", "", "13", "13"},
		{"?offset=4&limit=3", "two", "4", "13"},
		{"?offset=4&limit=99", text[4:], "4", "13"},
		{"?tail=10&limit=2", "tw", "4", "13"},
		{"?limit=0", "", "0", "13"},
		{"?offset=99", "", "99", "13"}, // the offset reached before the file was emptied
		{"?stream=stderr&tail=10", "last\n", "1048577", "1048582"},
		{"?stream=stderr&tail=100000", "last\n", "948582", "1048582"}, // no line begins within a page
	} {
		answer, got := call(t, server, "GET", "/api/task/over/logs"+c.query, "", "Accept-Encoding: identity")
		if c.offset == "948582" {
			c.want = long[948582:]
		}
		h := answer.Header
		if answer.StatusCode != 200 || got != c.want || h.Get("Elasticjob-Log-Offset") != c.offset ||
			h.Get("Elasticjob-Log-Size") != c.size || answer.ContentLength != int64(len(c.want)) {
			t.Errorf("%s: %d %.40q %v", c.query, answer.StatusCode, got, h)
		}
	}
	for task, live := range map[string]string{"over": "false", "live": "true"} {
		for _, query := range []string{"", "?offset=99"} {
			answer, _ := call(t, server, "GET", "/api/task/"+task+"/logs"+query, "")
			if answer.Header.Get("Elasticjob-Log-Live") != live {
				t.Errorf("%s%s: %v, want live %s", task, query, answer.Header, live)
			}
		}
	}
	for query, code := range map[string]string{
		"?tail=1&offset=1": "bad_query", "?tail=-1": "bad_query", "?limit=x": "bad_query",
		"?stream=stdout.1": "bad_query",
	} {
		if answer, text := call(t, server, "GET", "/api/task/over/logs"+query, ""); readError(t, answer,
			text).Error.Code != code {
			t.Errorf("%s: %s", query, text)
		}
	}
	answer, got := call(t, server, "GET", "/api/task/live/logs?download=true&stream=stdout", "")
	if said := answer.Header.Get("Content-Disposition"); got != text ||
		said != `attachment; filename="live.stdout.txt"` {
		t.Errorf("%q %q", got, said)
	}
	b.place("a\"b/..\r\n\xff@-@2@-@READY@-@S0@-@u", false)
	answer, _ = call(t, server, "GET", "/api/task/a%22b%2F..%0D%0A%FF@-@2@-@READY@-@S0@-@u/logs?download=true", "")
	if said := answer.Header.Get("Content-Disposition"); said != `attachment; filename="a_b_.._-2-READY-S0-u.stdout.txt"` {
		t.Errorf("%q", said)
	}
}

// TestOutputWhoseBeginningWasDropped: a read of dropped bytes begins at the first byte that is left, and the answer
// says so. If bytes are dropped before a follower has read them, the answer breaks off.
func TestOutputWhoseBeginningWasDropped(t *testing.T) {
	t.Parallel()
	const dropped = 2 << 20
	b, f := newFakeScheduler(), &files{}
	b.place("t1", true)
	beginning := make([]byte, dropped)
	copy(beginning, wire.DroppedNote(dropped))
	rest := strings.Repeat("0123456789abcde\n", 100_000)
	text := string(beginning) + rest
	f.set(stdout, text)
	server := start(t, api.Options{Scheduler: b, Logs: f})
	for query, want := range map[string]string{
		"": rest, "?offset=7": rest, "?offset=2097152": rest, "?offset=2097168": rest[16:], "?tail=16": rest[len(rest)-16:],
		"?tail=3000000": rest, "?offset=2097100&limit=60": rest[:8], "?offset=5&limit=10": "",
	} {
		answer, got := call(t, server, "GET", "/api/task/t1/logs"+query, "", "Accept-Encoding: identity")
		if got != want || answer.Header.Get("Elasticjob-Log-Size") != strconv.Itoa(len(text)) {
			t.Errorf("%s: %d bytes, want %d; %v", query, len(got), len(want), answer.Header)
		}
		if h := answer.Header; want == rest && query != "?offset=2097152" &&
			(h.Get("Elasticjob-Log-Offset") != "2097152" || h.Get("Elasticjob-Log-Dropped") != "2097152") {
			t.Errorf("%s: %v", query, h)
		}
	}
	if _, got := call(t, server, "GET", "/api/task/t1/logs/search?q=abcde&limit=1", ""); !strings.HasPrefix(got,
		`{"matches":[{"offset":2097152,`) {
		t.Error(got)
	}
	f.set(stdout, rest[:16])
	r, _ := follow(t, server.URL+"/api/task/t1/logs?follow=true")
	line(t, r, rest[:16])
	f.set(stdout, text)
	if more, err := io.ReadAll(r); err == nil || len(more) > 0 {
		t.Errorf("%d bytes, %v", len(more), err)
	}
}

// endedWhenMeasured ends the task when the size of its output is read.
type endedWhenMeasured struct {
	*files
	end func()
}

func (e endedWhenMeasured) Size(ctx context.Context, agent, path string) (int64, error) {
	defer e.end()
	return e.files.Size(ctx, agent, path)
}

// TestLogsOfATaskThatEnds: if the task ends while a request reads its output, the answer is still marked as live,
// because the task may have written more after the read.
func TestLogsOfATaskThatEnds(t *testing.T) {
	t.Parallel()
	b, f := newFakeScheduler(), &files{}
	b.place("t1", true)
	f.set(stdout, "one\n")
	server := start(t, api.Options{Scheduler: b, Logs: endedWhenMeasured{f, func() { b.place("t1", false) }}})
	for _, live := range []string{"true", "false"} {
		answer, text := call(t, server, "GET", "/api/task/t1/logs", "")
		if text != "one\n" || answer.Header.Get("Elasticjob-Log-Live") != live {
			t.Errorf("%q %v, want live %s", text, answer.Header, live)
		}
	}
}

// TestTailFollows: tail with follow begins near the end and continues with a file that was emptied.
func TestTailFollows(t *testing.T) {
	t.Parallel()
	b, f := newFakeScheduler(), &files{}
	b.place("t1", true)
	f.set(stdout, "one\ntwo\n")
	server := start(t, api.Options{Scheduler: b, Logs: f})
	r, leave := follow(t, server.URL+"/api/task/t1/logs?follow=true&tail=5")
	line(t, r, "two\n")
	f.set(stdout, "one\ntwo\nthree\n")
	line(t, r, "three\n")
	leave()
	r, _ = follow(t, server.URL+"/api/task/t1/logs?follow=true&tail=0&limit=9")
	f.set(stdout, "four\n") // emptied
	line(t, r, "four\n")
	f.set(stdout, "four\nfive\n")
	if rest, err := io.ReadAll(r); err != nil || string(rest) != "five" {
		t.Errorf("%q, %v", rest, err)
	}
}

// hugeFile has lines of 1,000 bytes, one of them with a needle, and counts the reads and their bytes.
type hugeFile struct {
	size, needle int64
	pages, bytes atomic.Int64
	// at, if not nil, is called before a page is read.
	at func(offset int64)
}

var hugeLines = []byte(strings.Repeat(strings.Repeat("x", 999)+"\n", 100))

func (h *hugeFile) Size(context.Context, string, string) (int64, error) { return h.size, nil }

func (h *hugeFile) Read(ctx context.Context, _, _ string, offset int64, length int) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if h.at != nil {
		h.at(offset)
	}
	length = int(max(0, min(int64(min(length, 64<<10)), h.size-offset)))
	h.pages.Add(1)
	h.bytes.Add(int64(length))
	page := slices.Clone(hugeLines[offset%1000:][:length])
	if n := h.needle - offset; h.needle > 0 && n >= 0 && n < int64(length) {
		copy(page[n:], "needle")
	}
	return page, nil
}

// TestHugeOutput: of 1 GB the server reads only as much as the client does.
func TestHugeOutput(t *testing.T) {
	t.Parallel()
	b, huge := newFakeScheduler(), &hugeFile{size: 1_000_000_000, needle: 67_200_100}
	b.place("t1", false)
	server := start(t, api.Options{Scheduler: b, Logs: huge, RequestTimeout: time.Hour})
	if _, text := call(t, server, "GET", "/api/task/t1/logs?tail=1000", ""); len(text) != 1000 ||
		huge.pages.Load() > 2 {
		t.Errorf("the tail: %d bytes in %d reads", len(text), huge.pages.Load())
	}
	huge.bytes.Store(0)
	var reply reply
	_, text := call(t, server, "GET", "/api/task/t1/logs/search?q=Needle", "")
	if err := json.Unmarshal([]byte(text), &reply); err != nil || reply.Next == nil || *reply.Next < 60<<20 ||
		huge.bytes.Load() > 65<<20 || reply.Size != huge.size {
		t.Fatalf("%s; %d bytes were read", text, huge.bytes.Load())
	}
	_, text = call(t, server, "GET", fmt.Sprintf("/api/task/t1/logs/search?q=Needle&limit=1&offset=%d", *reply.Next),
		"")
	if want := `{"matches":[{"offset":67200000,"at":67200100,`; !strings.HasPrefix(text, want) {
		t.Errorf("%.200s", text)
	}
	huge.bytes.Store(0)
	r, leave := follow(t, server.URL+"/api/task/t1/logs")
	if _, err := io.CopyN(io.Discard, r, 1<<20); err != nil {
		t.Fatal(err)
	}
	leave()
	server.Close() // waits for the handler
	if read := huge.bytes.Load(); read > 100<<20 {
		t.Errorf("%d bytes were read for a client that read 1 MiB", read)
	}
}

// TestSlowSearchEndsEarly: if each page takes a second, the search ends after some pages and says where to continue.
func TestSlowSearchEndsEarly(t *testing.T) {
	t.Parallel()
	b, huge := newFakeScheduler(), &hugeFile{size: 1_000_000_000}
	b.place("t1", false)
	var seconds atomic.Int64
	huge.at = func(int64) { seconds.Add(1) }
	server := start(t, api.Options{Scheduler: b, Logs: huge,
		Now: func() time.Time { return noon.Add(time.Duration(seconds.Load()) * time.Second) }})
	var reply reply
	_, text := call(t, server, "GET", "/api/task/t1/logs/search?q=nothing", "")
	if err := json.Unmarshal([]byte(text), &reply); err != nil || reply.Next == nil || huge.pages.Load() > 10 {
		t.Errorf("%s; %d pages were read", text, huge.pages.Load())
	}
}

type reply struct {
	Matches []logs.Match `json:"matches"`
	Next    *int64       `json:"next"`
	Size    int64        `json:"size"`
}

// TestOutputThatChangesWhileItIsRead: an answer does not wait for output that is added, and it breaks off if output
// disappears.
func TestOutputThatChangesWhileItIsRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		becomes int64
		whole   bool
	}{
		"grows": {2_000_000, true}, "is emptied": {50_000, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, f := newFakeScheduler(), &hugeFile{size: 200_000}
			b.place("t1", true)
			f.at = func(offset int64) {
				if offset > 0 {
					f.size = c.becomes
				}
			}
			server := start(t, api.Options{Scheduler: b, Logs: f})
			r, _ := follow(t, server.URL+"/api/task/t1/logs")
			text, err := io.ReadAll(r)
			if c.whole != (err == nil) || c.whole != (len(text) == 200_000) {
				t.Errorf("%d bytes, %v", len(text), err)
			}
		})
	}
}

func TestSearchInLogs(t *testing.T) {
	t.Parallel()
	b, f := newFakeScheduler(), &files{}
	b.place("t1", true)
	b.place("over", false)
	f.set(stdout, "begin\nAn Error: <b>\x1b[31m\xff\nfine\nerror 2\nerror 3\n")
	server := start(t, api.Options{Scheduler: b, Logs: f})
	for query, want := range map[string]string{
		"?q=error":               `{"matches":[{"offset":6,"at":9,"line":"An Error: <b>\u001b[31m�"},{"offset":31,"at":31,"line":"error 2"},{"offset":39,"at":39,"line":"error 3"}],"next":null,"size":47}`,
		"?q=ERROR&limit=2":       `{"matches":[{"offset":6,"at":9,"line":"An Error: <b>\u001b[31m�"},{"offset":31,"at":31,"line":"error 2"}],"next":39,"size":47}`,
		"?q=error&offset=39":     `{"matches":[{"offset":39,"at":39,"line":"error 3"}],"next":null,"size":47}`,
		"?q=error&offset=99":     `{"matches":[],"next":null,"size":47}`,
		"?q=error&stream=stderr": `{"matches":[],"next":null,"size":0}`, // it has not written any yet
		"?q=nothing":             `{"matches":[],"next":null,"size":47}`,
	} {
		if answer, got := call(t, server, "GET", "/api/task/t1/logs/search"+query, ""); answer.StatusCode != 200 ||
			got != want+"\n" {
			t.Errorf("%s: %s", query, cmp.Diff(want+"\n", got))
		}
	}
	for path, status := range map[string]int{
		"t1/logs/search": 400, "t1/logs/search?q=": 400, "t1/logs/search?q=a%0Ab": 400, "t1/logs/search?q=%FF": 400,
		"t1/logs/search?q=a&limit=1001": 400,
		"t1/logs/search?q=a&tail=3":     400, "none/logs/search?q=a": 404, "over/logs/search?q=a&stream=stderr": 410,
	} {
		if answer, text := call(t, server, "GET", "/api/task/"+path, ""); answer.StatusCode != status {
			t.Errorf("%s: %d %s", path, answer.StatusCode, text)
		}
	}
	broken := start(t, api.Options{Scheduler: b, Logs: &files{err: io.ErrUnexpectedEOF}})
	if answer, text := call(t, broken, "GET", "/api/task/t1/logs/search?q=a",
		""); answer.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
}
