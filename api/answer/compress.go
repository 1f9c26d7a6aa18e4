package answer

import (
	"fmt"
	"net/http"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"

	"github.com/elasticjob-go/elasticjob/api/failure"
)

// minCompressed is the minimum size of an answer that is compressed, in bytes.
const minCompressed = 1 << 10

// newCompressor returns a function that compresses the answers of a handler if the client accepts gzip and the answer
// has at least minCompressed bytes.
func newCompressor() func(http.Handler) http.HandlerFunc {
	compress, err := gzhttp.NewWrapper(gzhttp.MinSize(minCompressed), gzhttp.CompressionLevel(gzip.BestSpeed),
		gzhttp.EnableZstd(false),
		gzhttp.ContentTypes([]string{"application/json", "text/plain"}))
	if err != nil {
		panic(fmt.Errorf("create the compressor of answers: %w", err)) // cannot happen: all options are constants
	}
	return compress
}

// Compressed calls write to answer a request, and compresses the answer to a read for clients that accept it. The
// length of a compressed answer reveals something about its content. So answers with new tokens are never compressed:
// they do not answer reads. And a page of another site learns no length, because requests from such pages are refused
// (admission/origin.go).
func (a *Writer) Compressed(w http.ResponseWriter, r *http.Request, write http.HandlerFunc) {
	if failure.IsRead(r.Method) {
		write = a.compress(write)
	}
	write(w, r)
}
