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
	// logPage is how much is read from an agent at once, in bytes.
	logPage = 64 << 10
	// logTries is how often in a row reading may fail once an answer is under
	// way: an agent that restarts is back by then.
	logTries = 50
)

// Headers of an answer with output.
const (
	// logOffset is where in the file the answer begins, logSize how large the file was then. A size that is less than
	// an offset that was reached before says that the file was rotated: offsets count from the begin of the new one.
	logOffset = "Elasticjob-Log-Offset"
	logSize   = "Elasticjob-Log-Size"
	// logLive is false when the task had ended before the size was asked for: then nothing comes after it.
	logLive = "Elasticjob-Log-Live"
)

// logs sends a task's output as it is and, with follow, as it comes, until the task has ended or the client has gone.
// When it ends before, because reading fails, the file is rotated meanwhile, the server ends or no longer leads, or
// whoever follows it is no longer let in, the connection breaks, so that nobody takes it for all.
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

// sendLog sends pages of output, of which the first was read, until there is no more.
func (h *Handlers) sendLog(c *gin.Context, w http.ResponseWriter, l *log) {
	w.WriteHeader(http.StatusOK)
	if c.Request.Method == http.MethodHead {
		return
	}
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Time{}) // the request was read; the answer may last

	if l.follow {
		answer.LeaveUnmeasured(c)
	}
	tick := time.NewTicker(h.FollowEvery)
	defer tick.Stop()
	who := caller.Of(c.Request.Context())
	for failures := 0; ; {
		if who.Lapsed != nil && who.Lapsed() {
			answer.BreakOff(out)
		}
		_ = out.SetWriteDeadline(time.Now().Add(h.WriteStall))
		if _, err := w.Write(l.page); err != nil || l.left == 0 {
			return
		}
		// Whether the task lives was asked before the page was read: what it wrote
		// until its end is in the page or there is none.
		if len(l.page) == 0 && failures == 0 && !(l.follow && l.place.Live) {
			if !l.follow {
				answer.BreakOff(out) // the file has become shorter than it was at the begin
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
				answer.BreakOff(out)
			case <-h.Ending:
				answer.BreakOff(out)
			}
		}
		switch err := l.next(c.Request.Context()); {
		case err == nil:
			failures = 0
		case c.Request.Context().Err() != nil:
			return
		case isGone(err):
			if !l.follow {
				answer.BreakOff(out)
			}
			return
		default:
			// A server that leads no more can't know how the task goes.
			if failures++; failures < logTries && mayHeal(err) && failure.Refusal(err).Code != "not_leading" {
				continue
			}
			h.Log.WarnContext(c.Request.Context(), "task output cut off", "task", l.taskID, "error", err)
			answer.BreakOff(out)
		}
	}
}

// failLog answers where no output can be sent.
func (h *Handlers) failLog(c *gin.Context, l *log, err error) {
	h.warnLog(c, l, err)
	h.Answers.Fail(c.Writer, c.Request, caller.HideInError(c.Request.Context(), h.Scheduler, err))
}

// warnLog logs why an agent could not be read, which is in no answer.
func (h *Handlers) warnLog(c *gin.Context, l *log, err error) {
	if silent := new(failure.Failure); errors.As(err, &silent) && silent.Cause != nil {
		h.Log.WarnContext(c.Request.Context(), "task output not read", "task", l.taskID, "agent", l.place.AgentURL,
			"error", silent.Cause)
	}
}

// isGone reports errors that say that there is nothing more to come.
func isGone(err error) bool {
	var known *failure.Failure
	kind := failure.Refusal(err).Kind
	return errors.As(err, &known) && known.Status == http.StatusGone || kind == problem.LogGone ||
		kind == problem.NotFound
}

// mayHeal reports whether the same read may succeed a moment later: what a file is, or in which other one its text
// stands, does not change.
func mayHeal(err error) bool {
	var known *failure.Failure
	return !errors.As(err, &known) || known.Status >= http.StatusInternalServerError
}
