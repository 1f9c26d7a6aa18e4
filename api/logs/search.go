package logs

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/elasticjob-go/elasticjob/api/answer"
	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/gin-gonic/gin"
)

const (
	// searchedBytes and searchedFor bound how much of a task's output one search reads, and for how long.
	searchedBytes = 64 << 20
	searchedFor   = 5 * time.Second
	// mostWanted bounds what is looked for, in bytes.
	mostWanted = 500
	// How many lines a search finds: if it is not said, and at most.
	someMatches = 100
	mostMatches = 1000
)

// Found is the answer to a search.
type Found struct {
	Matches []Match `json:"matches"`
	// Next is where to go on, nil when all of it was looked through.
	Next *int64 `json:"next"`
	// Size is how large the file was at the begin.
	Size int64 `json:"size"`
}

// What a search in output takes, beside what reading it does.
var (
	matchText  = request.Text("q", "What is looked for, in any case: one line, at most 500 bytes.").WithExample("error").Mandatory()
	matchLimit = request.Number("limit", "How many lines are found at most.", someMatches, 1, mostMatches)
)

// searchLog finds lines in a task's output, as much of it as there is at the begin.
func (h *Handlers) searchLog(c *gin.Context) (any, error) {
	q := request.QueryOf(c)
	l := &log{scheduler: h.Scheduler, files: h.Files, stream: logStream.Of(q), offset: logFrom.Of(q), tail: -1,
		left: math.MaxInt64}
	most, wanted := matchLimit.Of(q), matchText.Of(q)
	if wanted == "" || len(wanted) > mostWanted || strings.Contains(wanted, "\n") || !utf8.ValidString(wanted) {
		q.Refuse("q", "must be what to look for: 1 to %d bytes of UTF-8 in one line", mostWanted)
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	leave, err := h.searches.Enter(caller.Of(c.Request.Context()))
	if err != nil {
		return nil, err
	}
	defer leave()
	if l.taskID, err = request.PathValue(c, "taskId"); err == nil {
		err = l.begin(c.Request.Context())
	}
	f := newFinder(wanted, l.offset-int64(len(l.page)), most)
	until := l.offset + searchedBytes
	for began := h.Now(); err == nil; err = l.next(c.Request.Context()) {
		last := l.left == 0 || len(l.page) == 0
		f.take(l.page, last)
		if last || f.full() || l.offset >= until || h.Now().Sub(began) > searchedFor {
			break
		}
	}
	if err != nil {
		h.warnLog(c, l, err)
		return nil, err
	}
	answer := Found{Matches: answer.OrEmpty(f.found), Size: l.size}
	if next := f.next(); next < l.size && (f.full() || l.left > 0 && len(l.page) > 0) {
		answer.Next = &next
	}
	return answer, nil
}
