package logs

import (
	"bytes"
	"context"
	"errors"
	"math"
	"net/http"
	"regexp"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// logStreams are the files that a task's output is in. Those with .1 are what the executor has last rotated out of the
// others.
var logStreams = []string{"stdout", "stderr", "stdout.1", "stderr.1"}

// What reading output takes.
var (
	logStream = request.Choice("stream", "Which file; those with .1 are what was rotated out of the others last.",
		logStreams...)
	logFrom = request.Bytes("offset", "How many bytes are skipped.", 0)
	logTail = request.Bytes("tail",
		"How many bytes before the end it begins, at the begin of a line if one is near. Not beside offset.", -1)
	logLimit    = request.Bytes("limit", "How many bytes there are at most.", math.MaxInt64)
	logFollow   = request.Flag("follow", "Goes on with what comes, until the task has ended.")
	logDownload = request.Flag("download", "Has a browser save it as a file.")
)

// log is one reading of one stream of a task, page by page.
type log struct {
	scheduler        caller.Scheduler
	files            Files
	taskID, stream   string
	follow, download bool

	offset int64
	// tail is how many bytes before the end it begins, negative where offset says it.
	tail int64
	// left is how many bytes are still to be read: who asks for what there is gets an end, however fast it grows.
	left int64
	// size is how large the file was at the begin, from where in it the answer begins, and length how long the answer
	// is, unless it follows.
	size, from, length int64
	// seen is set when the file has reached offset: one that is shorter later was rotated.
	seen bool
	// live is place.Live as it was before size was read: place is looked up again for each page.
	live  bool
	place views.LogPlace
	page  []byte
}

func (h *Handlers) openLog(c *gin.Context) (*log, error) {
	q := request.QueryOf(c)
	l := &log{scheduler: h.Scheduler, files: h.Files, stream: logStream.Of(q), follow: logFollow.Of(q),
		download: logDownload.Of(q), offset: logFrom.Of(q), tail: logTail.Of(q), left: logLimit.Of(q)}
	if q.Has("tail") && q.Has("offset") {
		q.Refuse("tail", "goes with no offset: say one of both")
	}
	if l.follow && strings.HasSuffix(l.stream, ".1") {
		q.Refuse("follow", "what was rotated does not grow: follow stdout or stderr")
	}
	if err := q.Err(); err != nil {
		return l, err
	}
	id, err := request.PathValue(c, "taskId")
	l.taskID = id
	return l, err
}

// begin finds out where to begin, and reads the first page.
func (l *log) begin(ctx context.Context) error {
	if err := l.measure(ctx); err != nil {
		return err
	}
	if l.tail >= 0 {
		if err := l.toTail(ctx); err != nil {
			return l.problem(ctx, err)
		}
	}
	l.seen = l.offset <= l.size
	if !l.follow {
		l.left = min(l.left, max(l.size-l.offset, 0))
	}
	if l.from, l.length = l.offset, l.left; l.left == 0 {
		return nil
	}
	return l.next(ctx)
}

// measure finds the file, and how large it is. One that a live task has not made yet is empty.
func (l *log) measure(ctx context.Context) (err error) {
	err = l.locate(ctx)
	l.live = l.place.Live
	if err != nil || l.place.Dir == "" {
		return err
	}
	l.size, err = l.files.Size(ctx, l.place.AgentURL, l.path())
	return l.problem(ctx, err)
}

// toTail has it begin at the begin of a line, if there is one in the first page behind where it was to begin.
func (l *log) toTail(ctx context.Context) error {
	if l.offset = max(l.size-l.tail, 0); l.offset == 0 || l.offset == l.size {
		return nil
	}
	// The byte before says whether this is the begin of a line.
	before, err := l.files.Read(ctx, l.place.AgentURL, l.path(), l.offset-1, logPage)
	if n := bytes.IndexByte(before, '\n'); n >= 0 && n+1 < len(before) {
		l.offset += int64(n)
	}
	return err
}

// locate asks where the output is. Of a task that has not begun, and that somebody follows, there is no place yet.
func (l *log) locate(ctx context.Context) error {
	place, err := caller.SeeOf(ctx, l.scheduler, explain.Reader.LogPlace, l.taskID)
	if l.follow && failure.Refusal(err).Code == "no_output_yet" {
		place, err = views.LogPlace{Live: true}, nil
	}
	l.place = place
	return err
}

func (l *log) path() string { return l.place.Dir + "/" + l.stream }

// next reads the next page; it is empty when there is no more for now.
func (l *log) next(ctx context.Context) error {
	l.page = nil
	if err := l.locate(ctx); err != nil || l.place.Dir == "" {
		return err
	}
	return l.problem(ctx, l.readPage(ctx))
}

func (l *log) readPage(ctx context.Context) error {
	page, err := l.files.Read(ctx, l.place.AgentURL, l.path(), l.offset, int(min(logPage, l.left)))
	if err != nil {
		return err
	}
	if len(page) == 0 && l.follow && l.seen {
		return l.rewind(ctx)
	}
	l.page = page
	l.offset += int64(len(page))
	l.left -= int64(len(page))
	l.seen = l.seen || len(page) > 0
	return nil
}

// rewind goes to the beginning of a file that became shorter than what was read
// of it: the executor has begun a new one to keep output within bounds.
func (l *log) rewind(ctx context.Context) error {
	size, err := l.files.Size(ctx, l.place.AgentURL, l.path())
	if err == nil && size < l.offset {
		l.offset = 0
	}
	return err
}

// problem is what it means that an agent could not be read. A file that a live task has not made yet is empty.
func (l *log) problem(ctx context.Context, err error) error {
	var gone *cluster.FilesGone
	switch {
	case err == nil, errors.Is(err, cluster.ErrGone) && l.place.Live:
		return nil
	case errors.Is(err, cluster.ErrOneStream):
		return failure.New(http.StatusNotFound, "one_stream",
			"the cluster keeps what task %s writes to stderr in its stdout, in its order: ask for stdout",
			failure.Quoted(l.taskID))
	case errors.Is(err, cluster.ErrGone) && strings.HasSuffix(l.stream, ".1"):
		return failure.New(http.StatusGone, "log_gone",
			"there is no %s of task %s: it was not rotated, or its agent no longer keeps it", l.stream,
			failure.Quoted(l.taskID))
	case errors.As(err, &gone):
		return failure.New(http.StatusGone, "log_gone", "there is no %s of task %s: %s",
			l.stream, failure.Quoted(l.taskID), gone.Why)
	case errors.Is(err, cluster.ErrGone):
		return failure.New(http.StatusGone, "log_gone", "the %s of task %s is no longer kept by its agent", l.stream,
			failure.Quoted(l.taskID))
	case ctx.Err() != nil:
		return err
	case l.refusedFile(err):
		unreadable := failure.New(http.StatusConflict, "log_unreadable",
			"the %s of task %s can't be read: "+
				"its job has put something else in its place, or keeps others from reading it", l.stream,
			failure.Quoted(l.taskID))
		unreadable.Cause = err
		return unreadable
	}
	keeper := "the cluster"
	if l.place.AgentURL != "" {
		keeper = "the agent at " + l.place.AgentURL
	}
	silent := failure.Unavailable("agent_unreachable",
		"%s, which keeps the output of task %s, did not give it: try again",
		keeper, failure.Quoted(l.taskID))
	silent.Cause = err
	return silent
}

// refusedFile reports whether an agent has found what it can't read, as Mesos' agents and those of this machine say
// it: of a folder with 400, of all else with 500.
func (l *log) refusedFile(err error) bool {
	var refused *cluster.Refused
	return errors.As(err, &refused) && (refused.Status == http.StatusInternalServerError ||
		refused.Status == http.StatusBadRequest && l.place.AgentURL != "")
}

// inFileNames are what the names of files may not have.
var inFileNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// fileName is what a browser is to call it.
func (l *log) fileName() string {
	name := inFileNames.ReplaceAllString(strings.ReplaceAll(l.taskID, "@-@", "-"), "_")
	return name[:min(len(name), 200)] + "." + l.stream + ".txt"
}
