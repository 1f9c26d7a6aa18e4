package forward

import (
	"errors"
	"net/http"
	"testing"

	"github.com/elasticjob-go/elasticjob/api/failure"
)

// TestEndsWithoutALeaderAreUnavailable: a client that is told of a change of the leader may try again; it is no fault of
// the server.
func TestEndsWithoutALeaderAreUnavailable(t *testing.T) {
	t.Parallel()
	for _, err := range []error{errLeaderChanged, errNoNext, errShuttingDown} {
		if f, ok := errors.AsType[*failure.Failure](shown(err)); !ok || f.Status != http.StatusServiceUnavailable || !f.Undone {
			t.Errorf("%v is answered as %+v", err, f)
		}
	}
}
