package logs

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/answer"
	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/request"
)

const (
	// maxSearchBytes and maxSearchTime bound how much output one search reads, and for how long.
	maxSearchBytes = 64 << 20
	maxSearchTime  = 5 * time.Second
	// maxSearchText is the maximum length of the wanted text, in bytes.
	maxSearchText = 500
	// defaultMatches and maxMatches are the default and the highest limit of lines that a search returns.
	defaultMatches = 100
	maxMatches     = 1000
)

// Found is the answer to a search.
type Found struct {
	Matches []Match `json:"matches"`
	// Next is the offset at which to continue. It is nil if the search reached the end of the output.
	Next *int64 `json:"next"`
	// Size is the size of the file when the search began.
	Size int64 `json:"size"`
}

// These are the parameters of a search, in addition to those for reading output.
var (
	matchText = request.Text("q", "The text to find, ignoring case: one line, at most 500 bytes.").
			WithExample("error").Mandatory()
	matchLimit = request.Number("limit", "Maximum number of lines.", defaultMatches, 1, maxMatches)
)

// searchOutput finds lines in a task's output, up to its size when the search began.
func (h *Handlers) searchOutput(c *gin.Context) (any, error) {
	q := request.QueryOf(c)
	l := &outputReader{scheduler: h.Scheduler, files: h.Files, stream: logStream.Of(q), offset: logFrom.Of(q), tail: -1,
		remaining: math.MaxInt64}
	limit, wanted := matchLimit.Of(q), matchText.Of(q)
	if wanted == "" || len(wanted) > maxSearchText || strings.Contains(wanted, "\n") || !utf8.ValidString(wanted) {
		q.Refuse("q", "must be the text to find: 1 to %d bytes of UTF-8 in one line", maxSearchText)
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
	f := newFinder(wanted, l.offset-int64(len(l.page)), limit)
	stopOffset := l.offset + maxSearchBytes
	for began := h.Now(); err == nil; err = l.next(c.Request.Context()) {
		last := l.remaining == 0 || len(l.page) == 0
		f.search(l.page, last)
		if last || f.full() || l.offset >= stopOffset || h.Now().Sub(began) > maxSearchTime {
			break
		}
	}
	if err != nil {
		h.logCause(c, l, err)
		return nil, err
	}
	result := Found{Matches: answer.OrEmpty(f.found), Size: l.size}
	reachedEnd := l.remaining == 0 || len(l.page) == 0
	if next := f.nextOffset(); next < l.size && (f.full() || !reachedEnd) {
		result.Next = &next
	}
	return result, nil
}
