package apihttp

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib/encoding"
	"github.com/mesos/mesos-go/api/v1/lib/recordio"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"
	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/cluster/local/queue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestReadCall(t *testing.T) {
	t.Parallel()
	revive, err := (&scheduler.Call{Type: scheduler.Call_REVIVE}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, media, body string
		status            int
		text              string
		want              scheduler.Call_Type
	}{
		{"json", "application/json", `{"type":"REVIVE"}`, 200, "", scheduler.Call_REVIVE},
		{"protobuf", "application/x-protobuf", string(revive), 200, "", scheduler.Call_REVIVE},
		{"type that is not known", "application/json", `{"type":"DANCE","framework_id":{"value":"f"}}`, 400, "Failed to parse body into Call protobuf: ", 0},
		{"no protobuf", "application/x-protobuf", "\xff\xff", 400, "Failed to parse body into Call protobuf: ", 0},
		{"no object", "application/json", `[1]`, 400, "Failed to parse body into Call protobuf: ", 0},
		{"more than one", "application/json", `{} {}`, 400, "Failed to parse body into Call protobuf: ", 0},
		{"cut off", "application/json", `{"type":`, 400, "Failed to parse body into Call protobuf: ", 0},
		{"other media", "application/xml", `{}`, 415, "Expecting 'Content-Type' of application/json or application/x-protobuf", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", strings.NewReader(tt.body))
			r.Header.Set("Content-Type", tt.media)
			var call scheduler.Call
			ok := ReadCall(w, r, &call)
			if ok != (tt.status == 200) || w.Code != tt.status || !strings.HasPrefix(w.Body.String(), tt.text) ||
				tt.text == "" && w.Body.Len() > 0 {
				t.Errorf("%v, %d %q; expected %d %q", ok, w.Code, w.Body, tt.status, tt.text)
			}
			if ok && call.Type != tt.want {
				t.Errorf("type %v", call.Type)
			}
		})
	}
}

type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestLargeCallsAreRefused(t *testing.T) {
	t.Parallel()
	for _, length := range []int64{MaxBody + 1, -1} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", spaces{})
		r.ContentLength = length
		r.Header.Set("Content-Type", "application/json")
		var call scheduler.Call
		if ReadCall(w, r, &call) || w.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("length %d: %d %s", length, w.Code, w.Body)
		}
	}
}

func TestMediaTypeOfAStream(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]string{
		"": "application/json", "*/*": "application/json", "application/json": "application/json",
		"application/x-protobuf":                  "application/x-protobuf",
		"text/html, application/x-protobuf;q=0.5": "application/x-protobuf",
	} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		events := queue.New[encoding.Marshaler](0)
		events.Close(&scheduler.Event{Type: scheduler.Event_HEARTBEAT})
		err := Stream(t.Context(), w, r, nil, events, time.Minute, nil)
		got := w.Header().Get("Content-Type")
		if isJSON := strings.HasSuffix(w.Body.String(), "\n{\"type\":\"HEARTBEAT\"}"); err != nil || got != want ||
			isJSON != (want == "application/json") {
			t.Errorf("%q: %s %q, %v", accept, got, w.Body, err)
		}
	}
}

// serve answers one request with do and returns the response.
func serve(t *testing.T, do func(http.ResponseWriter, *http.Request)) *http.Response {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(do))
	t.Cleanup(server.Close)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/x-protobuf")
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return response
}

func TestStream(t *testing.T) {
	t.Parallel()
	heartbeat := &scheduler.Event{Type: scheduler.Event_HEARTBEAT}
	events := queue.New[encoding.Marshaler](0)
	events.Push(heartbeat)
	served := make(chan error, 1)
	response := serve(t, func(w http.ResponseWriter, r *http.Request) {
		served <- Stream(r.Context(), w, r, http.Header{"X-More": {"y"}}, events, time.Millisecond, heartbeat)
	})
	if got := response.Header.Get("X-More") + response.Header.Get("Content-Type"); got != "yapplication/x-protobuf" {
		t.Errorf("headers %v", response.Header)
	}
	frames := recordio.NewReader(response.Body)
	next := func() (event scheduler.Event, err error) {
		frame, err := frames.ReadFrame()
		if err == nil {
			err = event.Unmarshal(frame)
		}
		return event, err
	}
	for range 3 { // the queued one, and those of the interval
		if event, err := next(); err != nil || event.Type != scheduler.Event_HEARTBEAT {
			t.Fatalf("%v, %v", event, err)
		}
	}
	events.Close(&scheduler.Event{Type: scheduler.Event_ERROR, Error: &scheduler.Event_Error{Message: "last"}})
	for {
		event, err := next()
		if err != nil {
			t.Fatalf("the stream ended without its last event: %v", err)
		}
		if event.Type == scheduler.Event_ERROR {
			break
		}
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestStreamGivesUpOnAReaderThatDoesNotRead(t *testing.T) {
	t.Parallel()
	result := make(chan error, 2)
	response := serve(t, func(w http.ResponseWriter, r *http.Request) {
		large := &scheduler.Event{Type: scheduler.Event_ERROR,
			Error: &scheduler.Event_Error{Message: strings.Repeat("x", 32<<20)}}
		ctx, cancel := context.WithCancel(r.Context())
		defer time.AfterFunc(100*time.Millisecond, cancel).Stop()
		events := queue.New[encoding.Marshaler](0)
		events.Push(large)
		result <- Stream(ctx, w, r, nil, events, time.Minute, nil)
	})
	select {
	case err := <-result:
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the stream blocks")
	}
	if _, err := recordio.NewReader(response.Body).ReadFrame(); err == nil {
		t.Error("a frame that was cut off was read whole")
	}
}

func TestAccepted(t *testing.T) {
	t.Parallel()
	response := serve(t, func(w http.ResponseWriter, _ *http.Request) { Answer(w, http.StatusAccepted, "") })
	if response.StatusCode != http.StatusAccepted || response.Header.Get("Content-Length") != "0" {
		t.Errorf("%v", response)
	}
}
