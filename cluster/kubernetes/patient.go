package kubernetes

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// patient counts the answers by which the API server puts requests off (429), after which the client sends them again
// when the server says. Those that were put off together do not come back together: each waits a little longer than it
// was told. A request without time for that is handed the answer as it is: that it was not done is known then, which
// it would not be if its time ran out while it waits.
type patient struct {
	http.RoundTripper
	throttled *atomic.Int64
}

func (p *patient) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := p.RoundTripper.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusTooManyRequests {
		return resp, err
	}
	p.throttled.Add(1)
	seconds, err := strconv.Atoi(resp.Header.Get(retryAfter))
	if err != nil {
		return resp, nil // it is not to be sent again
	}
	wait := time.Duration(seconds) * time.Second
	more := rand.N(max(wait, time.Second))
	if until, set := r.Context().Deadline(); set && time.Until(until) < wait+more {
		resp.Header.Del(retryAfter)
		return resp, nil
	}
	timer := time.NewTimer(more)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
	return resp, nil
}

// retryAfter is the header that says after how many seconds a request may be sent again.
const retryAfter = "Retry-After"
