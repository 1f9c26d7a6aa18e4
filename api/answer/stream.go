package answer

import (
	"net/http"
	"time"
)

// StreamWriter writes an answer in pieces, and gives the client a time limit for each piece. The whole answer and the
// pauses between the pieces may take any time.
type StreamWriter struct {
	http.ResponseWriter
	conn         *http.ResponseController
	stallTimeout time.Duration
}

// Stream returns the writer for a long-lasting answer.
func (a *Writer) Stream(w http.ResponseWriter) *StreamWriter {
	return &StreamWriter{ResponseWriter: w, conn: http.NewResponseController(w), stallTimeout: a.stallTimeout}
}

// Write writes one piece. The client may take up to stallTimeout to read it.
func (w *StreamWriter) Write(b []byte) (int, error) {
	_ = w.conn.SetWriteDeadline(time.Now().Add(w.stallTimeout))
	return w.ResponseWriter.Write(b)
}

// FlushError sends what was written, and then removes the deadline. With HTTP/2 a deadline that expires later would
// end the stream even if no write is pending.
func (w *StreamWriter) FlushError() error {
	_ = w.conn.SetWriteDeadline(time.Now().Add(w.stallTimeout))
	defer func() { _ = w.conn.SetWriteDeadline(time.Time{}) }()
	return w.conn.Flush()
}

// Unwrap returns the wrapped writer, for http.ResponseController.
func (w *StreamWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Abort aborts an answer so that the client notices that it is incomplete. It panics with http.ErrAbortHandler.
func Abort(out *http.ResponseController) {
	_ = out.Flush() // send what was written so far
	panic(http.ErrAbortHandler)
}
