package answer_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/api/answer"
)

// connection records the write deadline of an answer.
type connection struct {
	*httptest.ResponseRecorder
	deadline, atFlush time.Time
}

func (c *connection) SetWriteDeadline(at time.Time) error {
	c.deadline = at
	return nil
}

func (c *connection) FlushError() error {
	c.atFlush = c.deadline
	return nil
}

// TestAStreamHasADeadlineOnlyWhileItWrites: a client has stallTimeout for each piece of an answer, and any time
// between two pieces. Over HTTP/2 a deadline that passes ends the stream, even when nothing is being written.
func TestAStreamHasADeadlineOnlyWhileItWrites(t *testing.T) {
	t.Parallel()
	const stall = time.Hour
	c := &connection{ResponseRecorder: httptest.NewRecorder()}
	w := answer.NewWriter(slog.New(slog.DiscardHandler), stall).Stream(c)
	for range 2 {
		begin := time.Now()
		if _, err := w.Write([]byte("piece")); err != nil {
			t.Fatal(err)
		}
		if c.deadline.Before(begin.Add(stall)) || c.deadline.After(time.Now().Add(stall)) {
			t.Errorf("while it writes the deadline is %v, want %v from now", c.deadline, stall)
		}
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Fatal(err)
		}
		if c.atFlush.Before(begin.Add(stall)) || !c.deadline.IsZero() {
			t.Errorf("the deadline is %v while it flushes and %v after it", c.atFlush, c.deadline)
		}
	}
}
