package cluster

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/answer"
	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/scheduler/view"
)

const (
	// changedInterval is the minimum interval between two events "changed", summaryInterval that between two events
	// "summary".
	changedInterval = 250 * time.Millisecond
	summaryInterval = time.Second
	// keepaliveInterval is the interval at which a comment shows that the stream is alive.
	keepaliveInterval = 15 * time.Second
)

// events streams changes as server-sent events. The stream ends when the client disconnects, when the server shuts
// down or loses the leadership, or when the client's login or token expires. Browsers then reconnect by themselves.
func (h *Handlers) events(c *gin.Context) {
	if err := request.QueryOf(c).Err(); err != nil {
		h.Answers.Fail(c.Writer, c.Request, err)
		return
	}
	answer.ExcludeFromMetrics(c)
	changes, err := h.Scheduler.Follow(c.Request.Context(), caller.ScopeOf(c.Request.Context()))
	if err != nil {
		h.Answers.Fail(c.Writer, c.Request, err)
		return
	}
	defer changes.Close()
	headers := c.Writer.Header()
	headers.Set("Content-Type", "text/event-stream; charset=utf-8")
	headers.Set("X-Accel-Buffering", "no") // so that nginx passes each event on at once
	out := h.Answers.Stream(c.Writer)
	_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Time{}) // the request has been read
	c.Writer.WriteHeader(http.StatusOK)
	if c.Request.Method == http.MethodHead {
		return
	}
	(&eventStream{server: h, c: c, out: out, changes: changes}).run()
}

// eventStream is the stream of one client.
type eventStream struct {
	server  *Handlers
	c       *gin.Context
	out     *answer.StreamWriter
	changes *view.Stream

	summary []byte // the last summary that was sent
	// comparisons is how many more times the current summary is compared with the last one. It is two after a change,
	// because the summary may be up to half a second old, and so the first comparison may miss the change.
	comparisons int
}

// run sends the events until the stream ends.
func (e *eventStream) run() {
	h, ctx := e.server, e.c.Request.Context()
	who := caller.Of(ctx)
	hello := struct {
		Term    int64  `json:"term"`
		Version string `json:"version"`
		Leader  string `json:"leader"`
	}{}
	if l, ok := h.Scheduler.Leader(); ok {
		hello.Term = l.Term
		if who.CanSeeAll() {
			hello.Leader, hello.Version = l.Address, h.Version
		}
	}
	ok := e.send("hello", hello) && e.sendSummary()
	keepalive := time.NewTicker(keepaliveInterval)
	defer keepalive.Stop()
	summary := time.NewTicker(summaryInterval)
	defer summary.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	changed := (<-chan struct{})(nil) // nil during the pause after an event
	for ok {
		select {
		case <-ctx.Done():
			return
		case <-h.ShuttingDown:
			return
		case <-e.changes.Ended():
			return
		case <-keepalive.C:
			// The queues and the numbers of the last hour also change as time passes, without any change.
			e.comparisons = max(e.comparisons, 1)
			ok = e.write([]byte(": alive\n\n"))
		case <-summary.C:
			if e.comparisons > 0 {
				e.comparisons--
				ok = e.sendSummary()
			}
		case <-pause.C:
			changed = e.changes.Changed()
		case <-changed:
			if changes, found := e.changes.Take(); found {
				e.comparisons = 2
				ok = e.send("changed", changes)
			}
			changed = nil
			pause.Reset(changedInterval)
		}
		if who.Lapsed != nil && who.Lapsed() {
			return
		}
	}
}

// sendSummary sends the summary if it differs from the last one sent. It returns false if the stream must end.
func (e *eventStream) sendSummary() bool {
	ctx := e.c.Request.Context()
	now, err := e.server.Scheduler.Summary(ctx, caller.ScopeOf(ctx))
	if err != nil {
		e.comparisons = max(e.comparisons, 1)
		return true // retry, for example while the registry does not answer; a lost leadership ends the stream anyway
	}
	text, err := json.Marshal(now)
	if err != nil || bytes.Equal(text, e.summary) {
		return err == nil
	}
	e.summary = text
	return e.sendText("summary", text)
}

// send sends an event. It returns false if the stream must end.
func (e *eventStream) send(event string, data any) bool {
	text, err := json.Marshal(data)
	return err == nil && e.sendText(event, text)
}

func (e *eventStream) sendText(event string, data []byte) bool {
	return e.write(append(append([]byte("event: "+event+"\ndata: "), data...), "\n\n"...))
}

// write sends text and reports whether the client is still connected.
func (e *eventStream) write(text []byte) bool {
	_, err := e.out.Write(text)
	return err == nil && e.out.FlushError() == nil
}

// exampleEvents is an excerpt of a stream, for the API's description.
const exampleEvents = "event: hello\ndata: {\"term\":3,\"version\":\"1.0.0\",\"leader\":\"10.0.0.5:8899\"}\n\n" +
	"event: changed\ndata: {\"jobs\":[\"my_job\"],\"executions\":[],\"apps\":[],\"cluster\":false,\"all\":false}\n\n"
