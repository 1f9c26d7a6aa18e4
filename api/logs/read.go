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
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// logStreams are the files of a task's output.
var logStreams = []string{"stdout", "stderr"}

// These are the parameters for reading output.
var (
	logStream = request.Choice("stream", "The file.", logStreams...)
	logFrom   = request.Bytes("offset", "Number of bytes to skip.", 0)
	logTail   = request.Bytes("tail",
		"Number of bytes before the end at which to begin, at the beginning of a line if one is near. Cannot be combined with offset.",
		-1)
	logLimit    = request.Bytes("limit", "Maximum number of bytes.", math.MaxInt64)
	logFollow   = request.Flag("follow", "Continues with new output until the task has ended.")
	logDownload = request.Flag("download", "Makes a browser save it as a file.")
)

// outputReader reads one stream of a task page by page.
type outputReader struct {
	scheduler        caller.Scheduler
	files            Files
	taskID, stream   string
	follow, download bool

	// offset is where the next page begins.
	offset int64
	// tail is how many bytes before the end the answer begins; if it is negative, the answer begins at offset.
	tail int64
	// remaining is how many bytes are still to be read. Without follow it is bounded by the size at the beginning, so
	// that the answer ends however fast the file grows.
	remaining int64
	// size is the size of the file at the beginning of the answer.
	size int64
	// from is the offset at which the answer begins. length is the length of an answer without follow.
	from, length int64
	// dropped is how many bytes at the beginning of the file the executor had dropped when readDropped was last
	// called. It is 0 as long as the reader had no reason to call it.
	dropped int64
	// reached is set once the file is as long as offset. If it is shorter later, it was emptied.
	reached bool
	// place is where the output is; next looks it up again for each page. live is place.Live before size was read.
	place views.LogPlace
	live  bool
	page  []byte
}

// newReader returns a reader for the parameters of a request. It returns an error if they are invalid.
func (h *Handlers) newReader(c *gin.Context) (*outputReader, error) {
	q := request.QueryOf(c)
	l := &outputReader{scheduler: h.Scheduler, files: h.Files, stream: logStream.Of(q), follow: logFollow.Of(q),
		download: logDownload.Of(q), offset: logFrom.Of(q), tail: logTail.Of(q), remaining: logLimit.Of(q)}
	if q.Has("tail") && q.Has("offset") {
		q.Refuse("tail", "cannot be combined with offset")
	}
	if err := q.Err(); err != nil {
		return l, err
	}
	id, err := request.PathValue(c, "taskId")
	l.taskID = id
	return l, err
}

// begin determines where the answer begins and reads the first page.
func (l *outputReader) begin(ctx context.Context) error {
	if err := l.measure(ctx); err != nil {
		return err
	}
	moveToStart := l.skipDropped
	if l.tail >= 0 {
		moveToStart = l.toTail
	}
	if err := moveToStart(ctx); err != nil {
		return l.problem(ctx, err)
	}
	l.reached = l.offset <= l.size
	if !l.follow {
		l.remaining = min(l.remaining, max(l.size-l.offset, 0))
	}
	if l.from, l.length = l.offset, l.remaining; l.remaining == 0 {
		return nil
	}
	return l.next(ctx)
}

// measure locates the file and reads its size. A file that a running task has not created yet counts as empty.
func (l *outputReader) measure(ctx context.Context) (err error) {
	err = l.locate(ctx)
	l.live = l.place.Live
	if err != nil || l.place.Dir == "" {
		return err
	}
	l.size, err = l.files.Size(ctx, l.place.AgentURL, l.path())
	return l.problem(ctx, err)
}

// minDropped is the smallest number of bytes that an executor drops. It also leaves at least as many.
const minDropped = 64 << 10

// skipDropped moves offset to the end of the dropped bytes, if it lies among them. It reads nothing if the output is
// so short that the executor can't have dropped any.
func (l *outputReader) skipDropped(ctx context.Context) error {
	if l.size <= 2*minDropped || l.offset >= l.size {
		return nil
	}
	if l.offset >= minDropped {
		page, err := l.files.Read(ctx, l.place.AgentURL, l.path(), l.offset, 1)
		if err != nil || !mayBeHole(l.offset, page) {
			return err
		}
	}
	requested := l.offset
	err := l.toRest(ctx)
	l.remaining = max(l.remaining-(l.offset-requested), 0) // the limit counts from the requested offset
	return err
}

// toRest moves offset to the first byte that is left, if offset lies before it.
func (l *outputReader) toRest(ctx context.Context) error {
	dropped, err := l.readDropped(ctx)
	l.offset = max(l.offset, dropped)
	return err
}

// readDropped determines how many bytes at the beginning of the file the executor has dropped: it reads the executor's
// note there.
func (l *outputReader) readDropped(ctx context.Context) (int64, error) {
	beginning, err := l.files.Read(ctx, l.place.AgentURL, l.path(), 0, wire.DroppedNoteBytes)
	l.dropped = wire.Dropped(beginning)
	return l.dropped, err
}

// mayBeHole reports whether a page read at an offset may be from dropped output: behind the executor's note the file
// has a hole, which reads as zeros.
func mayBeHole(offset int64, page []byte) bool {
	hole := max(wire.DroppedNoteRoom-offset, 0)
	return hole < int64(len(page)) && page[hole] == 0
}

// toTail sets offset to tail bytes before the end. It then moves offset to the beginning of the next line, if a line
// begins within the first page, and behind dropped output.
func (l *outputReader) toTail(ctx context.Context) error {
	if l.offset = max(l.size-l.tail, 0); l.offset == 0 || l.offset == l.size {
		return nil
	}
	// The page includes the byte before offset, which tells whether a line begins at offset.
	page, err := l.files.Read(ctx, l.place.AgentURL, l.path(), l.offset-1, pageBytes)
	if mayBeHole(l.offset-1, page) {
		return l.toRest(ctx)
	}
	if n := bytes.IndexByte(page, '\n'); n >= 0 && n+1 < len(page) {
		l.offset += int64(n)
	}
	return err
}

// locate looks up where the output is. If the task has not begun, a request with follow gets a place without a folder,
// so that it waits.
func (l *outputReader) locate(ctx context.Context) error {
	place, err := caller.ReadWith(ctx, l.scheduler, explain.Reader.LogPlace, l.taskID)
	if l.follow && failure.Refusal(err).Code == "no_output_yet" {
		place, err = views.LogPlace{Live: true}, nil
	}
	l.place = place
	return err
}

func (l *outputReader) path() string { return l.place.Dir + "/" + l.stream }

// next reads the next page. The page is empty if there is no more output now.
func (l *outputReader) next(ctx context.Context) error {
	l.page = nil
	if err := l.locate(ctx); err != nil || l.place.Dir == "" {
		return err
	}
	return l.problem(ctx, l.readPage(ctx))
}

// readPage reads a page at offset and moves offset behind it. With follow, it moves offset to the beginning of a file
// that was emptied.
func (l *outputReader) readPage(ctx context.Context) error {
	page, err := l.files.Read(ctx, l.place.AgentURL, l.path(), l.offset, int(min(pageBytes, l.remaining)))
	if err != nil {
		return err
	}
	if len(page) == 0 && l.follow && l.reached {
		return l.rewind(ctx)
	}
	if mayBeHole(l.offset, page) {
		switch dropped, err := l.readDropped(ctx); {
		case err != nil:
			return err
		case dropped > l.offset:
			return errDropped
		}
	}
	l.page = page
	l.offset += int64(len(page))
	l.remaining -= int64(len(page))
	l.reached = l.reached || len(page) > 0
	return nil
}

// errDropped means that the executor has dropped output that was not read yet. This ends the answer. The answer to the
// client's next request says where the rest begins.
var errDropped = failure.New(http.StatusConflict, "output_dropped",
	"the output grew faster than it was read, and its beginning was dropped: ask again")

// rewind moves offset to the beginning of the file if the file is now shorter than offset. Then the job has emptied
// it, or the executor did so because its file system can't drop only the beginning.
func (l *outputReader) rewind(ctx context.Context) error {
	size, err := l.files.Size(ctx, l.place.AgentURL, l.path())
	if err == nil && size < l.offset {
		l.offset = 0
	}
	return err
}

// problem converts an error of an agent into the error for the client. A missing file is no error while the task is
// running: the task has not created it yet, so it counts as empty.
func (l *outputReader) problem(ctx context.Context, err error) error {
	var gone *cluster.FilesGone
	switch {
	case err == nil, errors.Is(err, cluster.ErrGone) && l.place.Live:
		return nil
	case errors.Is(err, cluster.ErrOneStream):
		return failure.New(http.StatusNotFound, "one_stream",
			"this cluster merges stderr into stdout: request stdout of task %s",
			failure.Quoted(l.taskID))
	case errors.As(err, &gone):
		return failure.New(http.StatusGone, "log_gone", "there is no %s of task %s: %s",
			l.stream, failure.Quoted(l.taskID), gone.Why)
	case errors.Is(err, cluster.ErrGone):
		return failure.New(http.StatusGone, "log_gone", "the %s of task %s is no longer kept by its agent", l.stream,
			failure.Quoted(l.taskID))
	case ctx.Err() != nil, errors.Is(err, errDropped):
		return err
	case l.refusedFile(err):
		unreadable := failure.New(http.StatusConflict, "log_unreadable",
			"the %s of task %s can't be read: the job replaced the file or removed the permission to read it",
			l.stream, failure.Quoted(l.taskID))
		unreadable.Cause = err
		return unreadable
	}
	keeper := "the cluster"
	if l.place.AgentURL != "" {
		keeper = "the agent at " + l.place.AgentURL
	}
	unreachable := failure.Unavailable("agent_unreachable",
		"%s, which keeps the output of task %s, did not return it: try again",
		keeper, failure.Quoted(l.taskID))
	unreachable.Cause = err
	return unreachable
}

// refusedFile reports whether the agent found the file but cannot read it. Mesos agents and local agents answer 400
// for a directory and 500 for any other unreadable file.
func (l *outputReader) refusedFile(err error) bool {
	var refused *cluster.Refused
	return errors.As(err, &refused) && (refused.Status == http.StatusInternalServerError ||
		refused.Status == http.StatusBadRequest && l.place.AgentURL != "")
}

// unsafeInFileNames matches the characters that fileName replaces in the name of a downloaded file.
var unsafeInFileNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// fileName returns the name under which a browser saves the output.
func (l *outputReader) fileName() string {
	name := unsafeInFileNames.ReplaceAllString(strings.ReplaceAll(l.taskID, "@-@", "-"), "_")
	return name[:min(len(name), 200)] + "." + l.stream + ".txt"
}
