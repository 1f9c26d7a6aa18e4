package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

const (
	// logPage is how much is read from an agent at once, in bytes.
	logPage = 64 << 10
	// logTries is how often in a row reading may fail once an answer is under
	// way: an agent that restarts is back by then.
	logTries = 50
	// logStall is how long a client may take for one page.
	logStall = time.Minute
)

// logs sends a task's output as it is and, with follow, as it comes, until the
// task has ended or the client has gone. When it ends before, because reading fails, the server
// ends or no longer leads, the connection breaks, so that nobody takes it for all.
func (s *Server) logs(c *gin.Context) {
	l, err := s.openLog(c)
	if err == nil {
		err = l.next(c.Request.Context())
	}
	if err != nil {
		if silent := new(failure); errors.As(err, &silent) && silent.cause != nil {
			s.log.WarnContext(c.Request.Context(), "task output not read", "task", l.taskID, "agent", l.place.AgentURL, "error", silent.cause)
		}
		fail(c.Writer, c.Request, s.log, err)
		return
	}
	c.Header("Content-Type", "text/plain; charset=utf-8")
	c.Writer.WriteHeader(http.StatusOK)
	if c.Request.Method == http.MethodHead {
		return
	}
	out := http.NewResponseController(c.Writer)
	_ = out.SetReadDeadline(time.Time{}) // the request was read; the answer may last

	if l.follow {
		c.Set(unmeasured, true)
	}
	tick := time.NewTicker(s.opts.FollowEvery)
	defer tick.Stop()
	for failures := 0; ; {
		_ = out.SetWriteDeadline(time.Now().Add(logStall))
		if _, err := c.Writer.Write(l.page); err != nil {
			return
		}
		// Whether the task lives was asked before the page was read: what it wrote
		// until its end is in the page or there is none.
		if len(l.page) == 0 && failures == 0 && !(l.follow && l.place.Live) {
			return
		}
		if len(l.page) == 0 {
			if out.Flush() != nil || c.Request.Context().Err() != nil {
				return
			}
			select {
			case <-tick.C:
			case <-c.Request.Context().Done():
				breakOff(out)
			case <-s.ending.Done():
				breakOff(out)
			}
		}
		switch err := l.next(c.Request.Context()); {
		case err == nil:
			failures = 0
		case c.Request.Context().Err() != nil:
			return
		case isGone(err):
			return
		default:
			// A server that leads no more can't know how the task goes.
			if failures++; failures < logTries && refusal(err).Code != "not_leading" {
				continue
			}
			s.log.WarnContext(c.Request.Context(), "task output cut off", "task", l.taskID, "error", err)
			breakOff(out)
		}
	}
}

// breakOff ends an answer so that the client sees that it is not all.
func breakOff(out *http.ResponseController) {
	_ = out.Flush() // what there is
	panic(http.ErrAbortHandler)
}

// log is one reading of one stream of a task.
type log struct {
	scheduler      Scheduler
	files          Logs
	taskID, stream string
	follow         bool

	offset int64
	// read is how much came so far; size, without follow, what there was at the
	// beginning: who asks for what there is gets an end, however fast it grows.
	read, size int64
	place      core.LogPlace
	page       []byte
}

func (s *Server) openLog(c *gin.Context) (*log, error) {
	q := readQuery(c.Request, "stream", "offset", "follow")
	l := &log{scheduler: s.opts.Scheduler, files: s.opts.Logs,
		stream: q.choice("stream", "stdout", "stderr"), offset: q.offset("offset"), follow: q.flag("follow")}
	if err := q.err(); err != nil {
		return nil, err
	}
	id, err := pathValue(c, "taskId")
	l.taskID = id
	return l, err
}

// next reads the next page; it is empty when there is no more for now. A file
// that a live task has not made yet is empty.
func (l *log) next(ctx context.Context) error {
	l.page = nil
	place, err := l.scheduler.LogPlace(ctx, l.taskID)
	if l.follow && refusal(err).Code == "no_output_yet" { // the task has not begun: who follows it waits for that
		l.place = core.LogPlace{Live: true}
		return nil
	}
	if err != nil {
		return err
	}
	l.place = place
	err = l.readPage(ctx, place.Dir+"/"+l.stream)
	switch {
	case err == nil, errors.Is(err, cluster.ErrGone) && place.Live:
		return nil
	case errors.Is(err, cluster.ErrGone):
		return failed(http.StatusGone, "log_gone", "the %s of task %s is no longer kept by its agent", l.stream, quoted(l.taskID))
	case ctx.Err() != nil:
		return err
	}
	silent := unavailable("agent_unreachable",
		"the agent at %s, which keeps the output of task %s, did not give it: try again", place.AgentURL, quoted(l.taskID))
	silent.cause = err
	return silent
}

func (l *log) readPage(ctx context.Context, path string) error {
	most := int64(logPage)
	if !l.follow {
		if l.size == 0 {
			size, err := l.files.Size(ctx, l.place.AgentURL, path)
			if err != nil {
				return err
			}
			l.size = size
		}
		if most = min(most, l.size-l.offset); most <= 0 {
			return nil
		}
	}
	page, err := l.files.Read(ctx, l.place.AgentURL, path, l.offset, int(most))
	if err != nil {
		return err
	}
	if len(page) == 0 && l.follow && l.read > 0 {
		return l.rewind(ctx, path)
	}
	l.page = page
	l.offset += int64(len(page))
	l.read += int64(len(page))
	return nil
}

// rewind goes to the beginning of a file that became shorter than what was read
// of it: the executor has begun a new one to keep output within bounds.
func (l *log) rewind(ctx context.Context, path string) error {
	size, err := l.files.Size(ctx, l.place.AgentURL, path)
	if err == nil && size < l.offset {
		l.offset, l.read = 0, 0
	}
	return err
}

// isGone reports errors that say that there is nothing more to come.
func isGone(err error) bool {
	var known *failure
	kind := refusal(err).Kind
	return errors.As(err, &known) && known.status == http.StatusGone || kind == core.LogGone || kind == core.NotFound
}
