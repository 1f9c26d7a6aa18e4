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
	// changedEvery and summaryEvery are how long after one of these events the next one comes at the earliest.
	changedEvery = 250 * time.Millisecond
	summaryEvery = time.Second
	// aliveEvery is after how long without an event a comment shows that the stream lives.
	aliveEvery = 15 * time.Second
)

// events tells what changes, as server-sent events, until the client has gone, this server ends or leads no more, or
// whoever asked is no longer let in. Browsers come again by themselves.
func (h *Handlers) events(c *gin.Context) {
	if err := request.QueryOf(c).Err(); err != nil {
		h.Answers.Fail(c.Writer, c.Request, err)
		return
	}
	answer.LeaveUnmeasured(c)
	changes, err := h.Scheduler.Follow(c.Request.Context(), caller.ScopeOf(c.Request.Context()))
	if err != nil {
		h.Answers.Fail(c.Writer, c.Request, err)
		return
	}
	defer changes.Close()
	headers := c.Writer.Header()
	headers.Set("Content-Type", "text/event-stream; charset=utf-8")
	headers.Set("X-Accel-Buffering", "no") // proxies that hold answers back would hold events back
	out := h.Answers.Patient(c.Writer)
	_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Time{}) // the request was read; the answer lasts
	c.Writer.WriteHeader(http.StatusOK)
	if c.Request.Method == http.MethodHead {
		return
	}
	(&eventStream{server: h, c: c, out: out, changes: changes}).run()
}

// eventStream is one client that follows events.
type eventStream struct {
	server  *Handlers
	c       *gin.Context
	out     *answer.PatientWriter
	changes *view.Stream

	summary []byte // the last that was sent
	// looks is how often the summary is still to be looked at: twice after a change, as the first time it may be as it
	// was half a second before.
	looks int
}

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
		if who.SeesAll() {
			hello.Leader, hello.Version = l.Address, h.Version
		}
	}
	ok := e.send("hello", hello) && e.sendSummary()
	alive := time.NewTicker(aliveEvery)
	defer alive.Stop()
	// A queue and the last hour change by time alone, so that the summary is looked at beside changes, too, if seldom.
	summary := time.NewTicker(summaryEvery)
	defer summary.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	news := (<-chan struct{})(nil) // while it pauses
	for ok {
		select {
		case <-ctx.Done():
			return
		case <-h.Ending:
			return
		case <-e.changes.Ended():
			return
		case <-alive.C:
			e.looks = max(e.looks, 1)
			ok = e.write([]byte(": alive\n\n"))
		case <-summary.C:
			if e.looks > 0 {
				e.looks--
				ok = e.sendSummary()
			}
		case <-pause.C:
			news = e.changes.Changed()
		case <-news:
			if changed, some := e.changes.Take(); some {
				e.looks = 2
				ok = e.send("changed", changed)
			}
			news = nil
			pause.Reset(changedEvery)
		}
		if who.Lapsed != nil && who.Lapsed() {
			return
		}
	}
}

// sendSummary sends the summary if it differs from the last one.
func (e *eventStream) sendSummary() bool {
	ctx := e.c.Request.Context()
	now, err := e.server.Scheduler.Summary(ctx, caller.ScopeOf(ctx))
	if err != nil {
		e.looks = max(e.looks, 1)
		return true // as while the registry is silent; the stream's end says when the term has ended
	}
	text, err := json.Marshal(now)
	if err != nil || bytes.Equal(text, e.summary) {
		return err == nil
	}
	e.summary = text
	return e.sendText("summary", text)
}

func (e *eventStream) send(event string, data any) bool {
	text, err := json.Marshal(data)
	return err == nil && e.sendText(event, text)
}

func (e *eventStream) sendText(event string, data []byte) bool {
	return e.write(append(append([]byte("event: "+event+"\ndata: "), data...), "\n\n"...))
}

// write reports whether the client is still there.
func (e *eventStream) write(text []byte) bool {
	_, err := e.out.Write(text)
	return err == nil && e.out.FlushError() == nil
}

// exampleEvents are some of a stream.
const exampleEvents = "event: hello\ndata: {\"term\":3,\"version\":\"1.0.0\",\"leader\":\"10.0.0.5:8899\"}\n\n" +
	"event: changed\ndata: {\"jobs\":[\"my_job\"],\"executions\":[],\"apps\":[],\"cluster\":false,\"all\":false}\n\n"
