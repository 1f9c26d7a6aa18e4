package forward

import (
	"errors"
	"net/http"
	"testing"

	"github.com/elasticjob-go/elasticjob/api/failure"
)

// TestEndsWithoutALeaderAreUnavailable: while the leader changes, clients get a 503, which tells them to try again.
func TestEndsWithoutALeaderAreUnavailable(t *testing.T) {
	t.Parallel()
	for _, err := range []error{errLeaderChanged, errNoNext, errShuttingDown} {
		f, ok := errors.AsType[*failure.Failure](clientError(err))
		if !ok || f.Status != http.StatusServiceUnavailable || !f.Undone {
			t.Errorf("%v is answered as %+v", err, f)
		}
	}
}
