// Package logs serves the output of tasks. A client can read it, follow the output of a running task, and search for
// lines that contain a text.
package logs

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/answer"
	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/limit"
	"github.com/elasticjob-go/elasticjob/api/openapi"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/api/route"
)

// Options are the dependencies of the handlers of output.
type Options struct {
	Log       *slog.Logger
	Answers   *answer.Writer
	Scheduler caller.Scheduler
	Files     Files
	// Followed counts the answers that follow output.
	Followed *limit.Streams
	// FollowInterval is the interval at which an answer asks the agent for more output, when there was none.
	FollowInterval time.Duration
	// WriteTimeout is how long a client may take to read one page of an answer.
	WriteTimeout time.Duration
	Now          func() time.Time
	// ShuttingDown is closed when the server shuts down. Answers that follow output then end.
	ShuttingDown <-chan struct{}
}

// Handlers handles the routes of tasks' output.
type Handlers struct {
	Options
	searches *limit.Quota // limits the searches that run at the same time
}

// New returns the handlers.
func New(o Options) *Handlers {
	return &Handlers{Options: o, searches: limit.NewQuota("search_running", "searches in output", time.Second)}
}

// Files reads files through the API of the agent that holds them. An error wraps cluster.ErrGone if the agent answers
// that the file does not exist.
type Files interface {
	// Read returns at most length bytes from offset. It returns none if the offset is at or after the end of the file.
	Read(ctx context.Context, agentURL, path string, offset int64, length int) ([]byte, error)
	// Size returns the size of the file in bytes.
	Size(ctx context.Context, agentURL, path string) (int64, error)
}

// Routes returns the routes of tasks' output.
func (h *Handlers) Routes() []route.Route {
	const get = http.MethodGet
	return route.Group("Runs and output", []route.Route{
		{Method: get, Path: "/api/task/{taskId}/logs", Rule: route.Viewers, Raw: h.readOutput, IsStream: follows,
			Streams: h.Followed,
			Takes:   []request.Declared{logStream, logFrom, logTail, logLimit, logFollow, logDownload},
			Does: route.Does("Returns the output of a task and, with follow, what the task adds to it").
				Streams("text/plain; charset=utf-8", "The output, unchanged.", "one line\n", logHeaders...).
				Fails(http.StatusConflict, http.StatusGone)},
		{Method: get, Path: "/api/task/{taskId}/logs/search", Rule: route.Viewers, Answer: h.searchOutput,
			Takes: []request.Declared{logStream, matchText, logFrom, matchLimit},
			Does: route.Does("Searches the output of a task").Gives(Found{}).Fails(http.StatusConflict,
				http.StatusGone, http.StatusTooManyRequests)},
	})
}

// follows reports whether a request follows the output. An invalid value counts as false; readOutput refuses it later.
func follows(c *gin.Context) bool {
	follow, err := strconv.ParseBool(c.Query("follow"))
	return err == nil && follow
}

var (
	integerSchema = openapi.Schema{"type": "integer"}
	booleanSchema = openapi.Schema{"type": "boolean"}

	// logHeaders are the headers of answers with output.
	logHeaders = []openapi.Header{
		{Name: logOffset, About: "The offset in the file at which the answer begins.", Always: true,
			Schema: integerSchema},
		{Name: logDropped, About: "How many bytes at the beginning of the file were dropped; present if the request asked for some of them.",
			Schema: integerSchema},
		{Name: logSize, About: "The size of the file at that time.", Always: true, Schema: integerSchema},
		{Name: logLive, About: "Whether the task may write more.", Always: true, Schema: booleanSchema},
		{Name: "Content-Disposition", About: "The name of the file, with download.", Schema: route.TextSchema},
	}
)
