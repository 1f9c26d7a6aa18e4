package lease

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/lease"
)

// renew asks for the leases of all tasks, until ctx ends: when a task is added, and at the renewal interval while there
// are tasks.
func (h *Holder) renew(ctx context.Context) {
	for {
		length := h.shortest()
		var nextRenewal <-chan time.Time
		if length > 0 {
			began := time.Now()
			h.ask(ctx, length)
			nextRenewal = time.After(lease.Renewal(length) - time.Since(began))
		}
		select {
		case <-nextRenewal:
		case <-h.changed:
		case <-ctx.Done():
			return
		}
	}
}

// shortest returns the length of the shortest lease, 0 if there is no task.
func (h *Holder) shortest() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	shortest := 0
	for _, t := range h.tasks {
		if shortest == 0 || t.Grant.Seconds < shortest {
			shortest = t.Grant.Seconds
		}
	}
	return time.Duration(shortest) * time.Second
}

// maxAnswerTime is how long one server may take to answer.
const maxAnswerTime = 10 * time.Second

// ask asks the servers for leases of this length, one after the other, until one has answered. Each may take a sixth of
// the length, and at most maxAnswerTime, because a lease must survive the loss of some requests. If no server answers,
// ask also sends a request by way of the cluster. As long as no server answers, further calls send that request before
// they ask the servers.
func (h *Holder) ask(ctx context.Context, length time.Duration) {
	if h.Failed() != nil {
		h.send(ctx) // at once: the servers may take long to fail again
	}
	var failed []error
	for to, err := range h.servers(ctx, length/6) {
		if err != nil {
			failed = append(failed, err)
			continue
		}
		asked := h.opt.Now()
		r, key := h.request()
		a, err := h.post(ctx, to, min(length/6, maxAnswerTime), r, key)
		if err == nil {
			h.lastWarning = 0
			h.apply(to, asked, a)
			return
		}
		failed = append(failed, fmt.Errorf("%s: %w", to, err))
	}
	if ctx.Err() == nil {
		err := errors.Join(failed...)
		if now := h.opt.Now(); h.lastWarning == 0 || now-h.lastWarning >= warnInterval {
			h.lastWarning = now
			h.opt.Log.Warn("no scheduler renews leases by HTTP", "error", err)
		}
		h.mu.Lock()
		isFirst := h.failure == nil
		h.failure = err
		h.mu.Unlock()
		if isFirst {
			h.send(ctx)
		}
	}
}

// maxSent is how many requests that were sent by way of the cluster may wait for an answer. If there are more, the
// answer to the oldest is ignored.
const maxSent = 16

// send sends a request by way of the cluster, if the options have such a way.
func (h *Holder) send(ctx context.Context) {
	if h.opt.Send == nil {
		return
	}
	asked := h.opt.Now()
	r, key := h.request()
	h.mu.Lock()
	h.sent[r.Number] = asked
	if len(h.sent) > maxSent {
		delete(h.sent, slices.Min(slices.Collect(maps.Keys(h.sent))))
	}
	h.mu.Unlock()
	if err := h.opt.Send(ctx, r.Seal(key).Pack()); err != nil && ctx.Err() == nil {
		h.opt.Log.Warn("request for leases not sent by way of the cluster", "error", err)
	}
}

// Receive applies an answer that came by way of the cluster. It ignores data that is not the answer to a request that
// this Holder sent that way.
func (h *Holder) Receive(data []byte) {
	m, ok := lease.Unpack(data)
	if !ok {
		return
	}
	h.mu.Lock()
	key := h.key
	h.mu.Unlock()
	a, err := m.OpenAnswer(key)
	if err != nil || a.Start != h.start {
		h.opt.Log.Warn("answer about leases ignored", "error", err)
		return
	}
	h.mu.Lock()
	asked, isPending := h.sent[a.Number]
	delete(h.sent, a.Number)
	h.mu.Unlock()
	if isPending {
		h.apply("", asked, a)
	}
}

// warnInterval is the interval at which it is logged that no server answers. In a pod the log is the job's output.
const warnInterval = time.Minute

// servers yields the server that answered last, and then the others, or errors of their lookup. It looks up the others'
// names only when they are needed, so that leases are renewed without a name service as long as the first one answers.
func (h *Holder) servers(ctx context.Context, limit time.Duration) iter.Seq2[string, error] {
	h.mu.Lock()
	last, urls := h.lastServer, slices.Clone(h.urls)
	h.mu.Unlock()
	return func(yield func(string, error) bool) {
		if last != "" && !yield(last, nil) {
			return
		}
		for _, url := range urls {
			found, err := h.resolve(ctx, url, limit)
			if err != nil && !yield("", err) {
				return
			}
			for _, server := range found {
				if server != last && !yield(server, nil) {
					return
				}
			}
		}
	}
}

// resolve returns the URLs of the servers at a URL: one for each address of its host. A URL with an IP address is
// returned as it is. The name of a headless Service has the addresses of all servers, and only the leader answers. A
// connection to the name would reach any one of the servers, and perhaps always the same.
func (h *Holder) resolve(ctx context.Context, text string, limit time.Duration) (servers []string, err error) {
	u, err := url.Parse(text)
	if err != nil || net.ParseIP(u.Hostname()) != nil {
		return []string{text}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	addresses, err := h.opt.Lookup(ctx, u.Hostname())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	for _, address := range addresses {
		server := *u
		server.Host = net.JoinHostPort(address, cmp.Or(u.Port(), "80"))
		servers = append(servers, server.String())
	}
	return servers, nil
}

// request returns the next request, for all tasks that have not been ended, and the key to sign it with.
func (h *Holder) request() (r lease.Request, key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.number++
	r = lease.Request{Holder: h.holder, Start: h.start, Number: h.number, Term: h.term}
	for _, id := range slices.Sorted(maps.Keys(h.tasks)) {
		if !h.tasks[id].ended {
			r.Tasks = append(r.Tasks, id)
		}
	}
	return r, h.key
}

// post sends a request to a server, and returns its answer. An answer with another status than 200, a wrong signature
// or another request's number is an error.
func (h *Holder) post(
	ctx context.Context, to string, limit time.Duration, r lease.Request, key string,
) (lease.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	m := r.Seal(key)
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, to+lease.Path, bytes.NewReader(m.Body))
	if err != nil {
		return lease.Answer{}, err
	}
	q.Header.Set(lease.HolderHeader, m.Holder)
	q.Header.Set(lease.SignatureHeader, m.Signature)
	resp, err := h.client.Do(q)
	if err != nil {
		h.client.CloseIdleConnections() // the next request gets a new connection
		return lease.Answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, lease.MaxBody))
	switch {
	case err != nil:
		return lease.Answer{}, err
	case resp.StatusCode != http.StatusOK:
		return lease.Answer{}, fmt.Errorf("%s: %s", resp.Status, strings.TrimSpace(string(text[:min(len(text), 300)])))
	}
	answer := lease.Message{Holder: r.Holder, Body: text, Signature: resp.Header.Get(lease.SignatureHeader)}
	a, err := answer.OpenAnswer(key)
	if err == nil && (a.Start != r.Start || a.Number != r.Number) {
		err = errors.New("it answers another request")
	}
	return a, err
}
