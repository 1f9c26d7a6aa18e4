package answer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
)

// Rows is an answer that is a list, which is written row by row: a list of all documents may be hundreds of megabytes,
// and many may read it at once.
type Rows struct {
	n int
	// at makes a row.
	at func(i int) any
}

// Each is the list of the answers for some views.
func Each[V, A any](views []V, err error, answer func(V) A) (any, error) {
	return Rows{len(views), func(i int) any { return answer(views[i]) }}, err
}

// rowsPiece is how many bytes of rows are written at once, and a row more.
const rowsPiece = 64 << 10

// Rows sends a list, each row as shown makes it, as writeJSON does, "[]" when it is empty. It gives the client
// the stall for each piece.
func (a *Writer) Rows(w http.ResponseWriter, r *http.Request, list Rows, shown func(any) (any, error)) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	out := a.Patient(w)
	var piece bytes.Buffer
	enc := json.NewEncoder(&piece)
	enc.SetEscapeHTML(false)
	piece.WriteByte('[')
	for i := range list.n {
		if i > 0 {
			piece.WriteByte(',')
		}
		row, err := shown(list.at(i))
		if err != nil {
			a.log.WarnContext(r.Context(), "list cut off", "error", err)
			BreakOff(out.line)
			return
		}
		if err := enc.Encode(row); err != nil {
			panic(fmt.Errorf("encode a row of type %T: %w", row, err))
		}
		piece.Truncate(piece.Len() - 1) // the newline
		if piece.Len() < rowsPiece {
			continue
		}
		if _, err := out.Write(piece.Bytes()); err != nil {
			return // the client has gone
		}
		piece.Reset()
	}
	piece.WriteString("]\n")
	_, _ = out.Write(piece.Bytes()) // the client may have gone
}
