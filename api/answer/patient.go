package answer

import (
	"net/http"
	"time"
)

// PatientWriter gives the client some time for each piece of an answer, however
// long all of it takes, and however long nothing comes in between.
type PatientWriter struct {
	http.ResponseWriter
	line  *http.ResponseController
	stall time.Duration
}

// Patient makes the writer of a long answer.
func (a *Writer) Patient(w http.ResponseWriter) *PatientWriter {
	return &PatientWriter{ResponseWriter: w, line: http.NewResponseController(w), stall: a.stall}
}

// Write gives the client its time for one piece.
func (w *PatientWriter) Write(b []byte) (int, error) {
	_ = w.line.SetWriteDeadline(time.Now().Add(w.stall))
	return w.ResponseWriter.Write(b)
}

// FlushError sends what was written. Then there is no deadline: of a stream over HTTP/2 it would be the end, although
// nobody waits for a write.
func (w *PatientWriter) FlushError() error {
	_ = w.line.SetWriteDeadline(time.Now().Add(w.stall))
	defer func() { _ = w.line.SetWriteDeadline(time.Time{}) }()
	return w.line.Flush()
}

// Unwrap lets http.ResponseController flush what is below.
func (w *PatientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// BreakOff ends an answer so that the client sees that it is not all.
func BreakOff(out *http.ResponseController) {
	_ = out.Flush() // what there is
	panic(http.ErrAbortHandler)
}
