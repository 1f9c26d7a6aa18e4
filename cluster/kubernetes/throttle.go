package kubernetes

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// throttledTransport counts the answers by which the API server defers requests (429). The client repeats such a
// request after the time that the server names. throttledTransport adds a random delay, so that requests that were
// deferred together are not repeated together. If the request's deadline is too close for the delay, the caller gets
// the 429 itself. The caller then knows that the request was not executed; a deadline that expires during the wait
// would leave that open.
type throttledTransport struct {
	http.RoundTripper
	throttled *atomic.Int64
}

func (p *throttledTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := p.RoundTripper.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusTooManyRequests {
		return resp, err
	}
	p.throttled.Add(1)
	seconds, err := strconv.Atoi(resp.Header.Get(retryAfter))
	if err != nil {
		return resp, nil // the client will not repeat the request
	}
	wait := time.Duration(seconds) * time.Second
	extra := rand.N(max(wait, time.Second))
	if until, set := r.Context().Deadline(); set && time.Until(until) < wait+extra {
		resp.Header.Del(retryAfter)
		return resp, nil
	}
	timer := time.NewTimer(extra)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
	return resp, nil
}

// retryAfter is the header with the number of seconds after which a request may be repeated.
const retryAfter = "Retry-After"
