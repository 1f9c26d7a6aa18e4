package logs

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/answer"
	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
)

const (
	// pageBytes is how many bytes are read from an agent at once.
	pageBytes = 64 << 10
	// maxReadFailures is how many reads in a row may fail after an answer has begun: long enough for an agent to
	// restart.
	maxReadFailures = 50
)

// These are the headers of an answer with output.
const (
	// logOffset is where in the file the answer begins; logSize is the size of the file at that time. A size below an
	// offset already reached means that the job has emptied the file. logDropped is how many bytes at the beginning were
	// dropped because the output is large, if some of them were asked for; they count as part of the file.
	logOffset  = "Elasticjob-Log-Offset"
	logSize    = "Elasticjob-Log-Size"
	logDropped = "Elasticjob-Log-Dropped"
	// logLive is false if the task had ended before the size was read: no more output will follow.
	logLive = "Elasticjob-Log-Live"
)

// logs sends a task's output and, with follow, what the task adds to it, until the task has ended or the client has
// gone. If the answer has to end earlier, it breaks the connection, so that the client does not take it for complete:
// when reading fails, the file is emptied or its beginning dropped while it is read, the server shuts down or loses the
// leadership, or the client's login or token expires.
func (h *Handlers) logs(c *gin.Context) {
	l, err := h.openLog(c)
	if err == nil {
		err = l.begin(c.Request.Context())
	}
	if err != nil {
		h.failLog(c, l, err)
		return
	}
	c.Header("Content-Type", "text/plain; charset=utf-8")
	c.Header(logOffset, strconv.FormatInt(l.from, 10))
	c.Header(logSize, strconv.FormatInt(l.size, 10))
	if l.dropped > 0 {
		c.Header(logDropped, strconv.FormatInt(l.dropped, 10))
	}
	c.Header(logLive, strconv.FormatBool(l.live))
	if l.download {
		c.Header("Content-Disposition", `attachment; filename="`+l.fileName()+`"`)
	}
	if l.follow {
		h.sendLog(c, c.Writer, l)
		return
	}
	c.Header("Content-Length", strconv.FormatInt(l.length, 10))
	h.Answers.Compressed(c.Writer, c.Request, func(w http.ResponseWriter, _ *http.Request) { h.sendLog(c, w, l) })
}

// sendLog sends pages of output until there is no more. The first page has been read already.
func (h *Handlers) sendLog(c *gin.Context, w http.ResponseWriter, l *log) {
	w.WriteHeader(http.StatusOK)
	if c.Request.Method == http.MethodHead {
		return
	}
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Time{}) // the request has been read; the answer may last

	if l.follow {
		answer.ExcludeFromMetrics(c)
	}
	tick := time.NewTicker(h.FollowInterval)
	defer tick.Stop()
	who := caller.Of(c.Request.Context())
	for failures := 0; ; {
		if who.Lapsed != nil && who.Lapsed() {
			answer.Abort(out)
		}
		_ = out.SetWriteDeadline(time.Now().Add(h.WriteTimeout))
		if _, err := w.Write(l.page); err != nil || l.remaining == 0 {
			return
		}
		// The task's state was read before the page. So if the task had ended, the page has its last output, or there
		// is none.
		if len(l.page) == 0 && failures == 0 && !(l.follow && l.place.Live) {
			if !l.follow {
				answer.Abort(out) // the file is shorter than it was at the beginning
			}
			return
		}
		if len(l.page) == 0 {
			if out.Flush() != nil || c.Request.Context().Err() != nil {
				return
			}
			select {
			case <-tick.C:
			case <-c.Request.Context().Done():
				answer.Abort(out)
			case <-h.ShuttingDown:
				answer.Abort(out)
			}
		}
		switch err := l.next(c.Request.Context()); {
		case err == nil:
			failures = 0
		case c.Request.Context().Err() != nil:
			return
		case isGone(err):
			if !l.follow {
				answer.Abort(out)
			}
			return
		default:
			// A server that no longer leads does not know whether the task still runs.
			if failures++; failures < maxReadFailures && isTemporary(err) && failure.Refusal(err).Code != "not_leading" {
				continue
			}
			h.Log.WarnContext(c.Request.Context(), "task output cut off", "task", l.taskID, "error", err)
			answer.Abort(out)
		}
	}
}

// failLog answers with an error when no output can be sent.
func (h *Handlers) failLog(c *gin.Context, l *log, err error) {
	h.warnLog(c, l, err)
	h.Answers.Fail(c.Writer, c.Request, caller.RedactError(c.Request.Context(), h.Scheduler, err))
}

// warnLog logs why an agent could not be read. No answer contains that.
func (h *Handlers) warnLog(c *gin.Context, l *log, err error) {
	if silent := new(failure.Failure); errors.As(err, &silent) && silent.Cause != nil {
		h.Log.WarnContext(c.Request.Context(), "task output not read", "task", l.taskID, "agent", l.place.AgentURL,
			"error", silent.Cause)
	}
}

// isGone reports whether an error means that no more output will follow.
func isGone(err error) bool {
	var known *failure.Failure
	kind := failure.Refusal(err).Kind
	return errors.As(err, &known) && known.Status == http.StatusGone || kind == problem.LogGone ||
		kind == problem.NotFound
}

// isTemporary reports whether the same read may succeed a moment later. An error below 500 does not heal: it is about
// what the file is, or about output that is in another file.
func isTemporary(err error) bool {
	var known *failure.Failure
	return !errors.As(err, &known) || known.Status >= http.StatusInternalServerError
}
