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
	// maxReadFailures is the number of failed reads in a row after which an answer that has begun is cut off. An agent
	// can restart meanwhile.
	maxReadFailures = 50
)

// These are the headers of an answer with output.
const (
	// logOffset is the offset in the file at which the answer begins.
	logOffset = "Elasticjob-Log-Offset"
	// logSize is the size of the file at the beginning of the answer. A client that has already read beyond this size
	// knows that the job or the executor has emptied the file.
	logSize = "Elasticjob-Log-Size"
	// logDropped is the number of bytes at the beginning of the file that the executor has dropped because the output
	// is large. They count in offsets and sizes. The header is set only if the request asked for some of them.
	logDropped = "Elasticjob-Log-Dropped"
	// logLive is false if the task had ended before the size was read: no more output will follow.
	logLive = "Elasticjob-Log-Live"
)

// readOutput sends a task's output and, with follow, what the task adds to it until it ends.
//
// An answer that is incomplete ends with a broken connection, so that the client does not take it for complete. This
// happens when reads keep failing, when output that was not read yet is dropped, or, without follow, when the file is
// emptied; when the server shuts down or loses the leadership; and when the client's login or token expires.
func (h *Handlers) readOutput(c *gin.Context) {
	l, err := h.newReader(c)
	if err == nil {
		err = l.begin(c.Request.Context())
	}
	if err != nil {
		h.fail(c, l, err)
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
		h.sendPages(c, c.Writer, l)
		return
	}
	c.Header("Content-Length", strconv.FormatInt(l.length, 10))
	h.Answers.Compressed(c.Writer, c.Request, func(w http.ResponseWriter, _ *http.Request) { h.sendPages(c, w, l) })
}

// sendPages sends pages of output until there is no more. begin has read the first page.
func (h *Handlers) sendPages(c *gin.Context, w http.ResponseWriter, l *outputReader) {
	w.WriteHeader(http.StatusOK)
	if c.Request.Method == http.MethodHead {
		return
	}
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Time{}) // the request has been read, and the answer may take long

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
		atEnd := len(l.page) == 0 && failures == 0
		if atEnd && !l.follow {
			answer.Abort(out) // the file is now shorter than it was at the beginning
		}
		// The task's state was read before the page. So the output of a task that had ended by then is complete.
		if atEnd && !l.place.Live {
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
			if failures++; failures < maxReadFailures && isTemporary(err) &&
				failure.Refusal(err).Code != "not_leading" {
				continue
			}
			h.Log.WarnContext(c.Request.Context(), "task output cut off", "task", l.taskID, "error", err)
			answer.Abort(out)
		}
	}
}

// fail answers with an error when no output can be sent.
func (h *Handlers) fail(c *gin.Context, l *outputReader, err error) {
	h.logCause(c, l, err)
	h.Answers.Fail(c.Writer, c.Request, caller.RedactError(c.Request.Context(), h.Scheduler, err))
}

// logCause logs why an agent could not be read, because the answer does not contain it. It logs nothing for errors
// without a cause.
func (h *Handlers) logCause(c *gin.Context, l *outputReader, err error) {
	if f := new(failure.Failure); errors.As(err, &f) && f.Cause != nil {
		h.Log.WarnContext(c.Request.Context(), "task output not read", "task", l.taskID, "agent", l.place.AgentURL,
			"error", f.Cause)
	}
}

// isGone reports whether an error means that no more output will follow.
func isGone(err error) bool {
	var f *failure.Failure
	if errors.As(err, &f) && f.Status == http.StatusGone {
		return true
	}
	kind := failure.Refusal(err).Kind
	return kind == problem.LogGone || kind == problem.NotFound
}

// isTemporary reports whether the same read may succeed a moment later. A failure with a status below 500 is
// permanent: it concerns the file itself, for example one that the job has replaced with a directory.
func isTemporary(err error) bool {
	var f *failure.Failure
	return !errors.As(err, &f) || f.Status >= http.StatusInternalServerError
}
