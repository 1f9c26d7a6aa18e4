package answer

import (
	"fmt"
	"net/http"

	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
)

// leastCompressed is how long an answer is at least that is compressed, in bytes.
const leastCompressed = 1 << 10

// newCompressor makes what compresses answers for clients that take gzip. It is for answers to reads alone: those to
// logins, and those with a new token, are none. What a page of another site might have a browser ask again and again,
// to learn by lengths what an answer says, is refused before it is answered (origin.go).
func newCompressor() func(http.Handler) http.HandlerFunc {
	compress, err := gzhttp.NewWrapper(gzhttp.MinSize(leastCompressed), gzhttp.CompressionLevel(gzip.BestSpeed),
		gzhttp.EnableZstd(false),
		gzhttp.ContentTypes([]string{"application/json", "text/plain"}))
	if err != nil {
		panic(fmt.Errorf("make what compresses answers: %w", err)) // its options are all constants
	}
	return compress
}

// Compressed has write answer a request with what is compressed, if the client takes that and the request only reads.
func (a *Writer) Compressed(w http.ResponseWriter, r *http.Request, write http.HandlerFunc) {
	if failure.IsRead(r.Method) {
		write = a.compress(write)
	}
	write(w, r)
}
