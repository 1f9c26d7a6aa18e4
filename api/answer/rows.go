package answer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
)

// Rows is a list that is sent row by row, so that it need not be in memory as JSON: a list of all documents may have
// hundreds of megabytes, and many clients may read it at once.
type Rows struct {
	n   int
	row func(i int) any // returns the row with index i
}

// Each returns a list with the row convert(v) for each view v. It passes err through.
func Each[V, A any](views []V, err error, convert func(V) A) (any, error) {
	return Rows{len(views), func(i int) any { return convert(views[i]) }}, err
}

// rowsPiece is the number of bytes after which the collected rows are written. A piece may exceed it by one row.
const rowsPiece = 64 << 10

// Rows sends a list as JSON, "[]" if it is empty. redact hides what the caller may not see in a row; if it fails, the
// connection is broken off. The client may take up to stallTimeout to read each piece.
func (a *Writer) Rows(w http.ResponseWriter, r *http.Request, list Rows, redact func(any) (any, error)) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	out := a.Stream(w)
	var piece bytes.Buffer
	enc := json.NewEncoder(&piece)
	enc.SetEscapeHTML(false)
	piece.WriteByte('[')
	for i := range list.n {
		if i > 0 {
			piece.WriteByte(',')
		}
		row, err := redact(list.row(i))
		if err != nil {
			a.log.WarnContext(r.Context(), "list cut off", "error", err)
			Abort(out.conn)
			return
		}
		if err := enc.Encode(row); err != nil {
			panic(fmt.Errorf("encode a row of type %T: %w", row, err))
		}
		piece.Truncate(piece.Len() - 1) // without the newline
		if piece.Len() < rowsPiece {
			continue
		}
		if _, err := out.Write(piece.Bytes()); err != nil {
			return // the client has closed the connection
		}
		piece.Reset()
	}
	piece.WriteString("]\n")
	_, _ = out.Write(piece.Bytes()) // an error means that the client has closed the connection
}
