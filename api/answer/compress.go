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

// newCompressor returns a function that compresses the answers of a handler for clients that accept gzip. Only answers
// to reads are compressed; answers to logins and those with a new token are not reads. Compression leaks the content
// of an answer through its length if a page of another site can make a browser repeat a request, so such requests are
// refused before (admission/origin.go).
func newCompressor() func(http.Handler) http.HandlerFunc {
	compress, err := gzhttp.NewWrapper(gzhttp.MinSize(minCompressed), gzhttp.CompressionLevel(gzip.BestSpeed),
		gzhttp.EnableZstd(false),
		gzhttp.ContentTypes([]string{"application/json", "text/plain"}))
	if err != nil {
		panic(fmt.Errorf("make what compresses answers: %w", err)) // cannot happen: all options are constants
	}
	return compress
}

// Compressed calls write to answer a request. It compresses the answer if the client accepts that and the request is a
// read.
func (a *Writer) Compressed(w http.ResponseWriter, r *http.Request, write http.HandlerFunc) {
	if failure.IsRead(r.Method) {
		write = a.compress(write)
	}
	write(w, r)
}
