package answer

import (
	"net/http"
	"time"
)

// StreamWriter gives the client a time limit for each piece of an answer, however long the whole answer takes and
// however long the pauses between pieces are.
type StreamWriter struct {
	http.ResponseWriter
	line  *http.ResponseController
	stall time.Duration
}

// Stream returns the writer for a long-lasting answer.
func (a *Writer) Stream(w http.ResponseWriter) *StreamWriter {
	return &StreamWriter{ResponseWriter: w, line: http.NewResponseController(w), stall: a.stall}
}

// Write writes one piece and gives the client the stall time to read it.
func (w *StreamWriter) Write(b []byte) (int, error) {
	_ = w.line.SetWriteDeadline(time.Now().Add(w.stall))
	return w.ResponseWriter.Write(b)
}

// FlushError sends what was written and then removes the deadline. Over HTTP/2 an expired deadline ends the stream
// even if no write is pending.
func (w *StreamWriter) FlushError() error {
	_ = w.line.SetWriteDeadline(time.Now().Add(w.stall))
	defer func() { _ = w.line.SetWriteDeadline(time.Time{}) }()
	return w.line.Flush()
}

// Unwrap returns the wrapped writer, for http.ResponseController.
func (w *StreamWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Abort aborts an answer so that the client notices that it is incomplete. It panics with http.ErrAbortHandler.
func Abort(out *http.ResponseController) {
	_ = out.Flush() // send what was written so far
	panic(http.ErrAbortHandler)
}
