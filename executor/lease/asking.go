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

// renew asks for the leases of all tasks, again and again while there are some.
func (h *Holder) renew(ctx context.Context) {
	for {
		length := h.shortest()
		var again <-chan time.Time
		if length > 0 {
			began := time.Now()
			h.ask(ctx, length)
			again = time.After(lease.Renewal(length) - time.Since(began))
		}
		select {
		case <-again:
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

// maxAsk is how long one server may take to answer.
const maxAsk = 10 * time.Second

// ask asks the servers, one after the other, until one has answered. Each may take a sixth of the lease, and at most
// maxAsk, because a lease must survive the loss of some requests.
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
		a, err := h.post(ctx, to, min(length/6, maxAsk), r, key)
		if err == nil {
			h.warned = 0
			h.apply(to, asked, a)
			return
		}
		failed = append(failed, fmt.Errorf("%s: %w", to, err))
	}
	if ctx.Err() == nil {
		err := errors.Join(failed...)
		if now := h.opt.Now(); h.warned == 0 || now-h.warned >= warnInterval {
			h.warned = now
			h.opt.Log.Warn("no scheduler renews leases by HTTP", "error", err)
		}
		h.mu.Lock()
		isNew := h.failed == nil
		h.failed = err
		h.mu.Unlock()
		if isNew {
			h.send(ctx)
		}
	}
}

// maxSent is how many requests that were sent by way of the cluster may be answered at a time.
const maxSent = 16

// send sends a request by way of the cluster, if there is one.
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

// Receive applies an answer that came by way of the cluster. It ignores what is not the answer to such a request.
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
	asked, waited := h.sent[a.Number]
	delete(h.sent, a.Number)
	h.mu.Unlock()
	if waited {
		h.apply("", asked, a)
	}
}

// warnInterval is the interval at which it is logged that no server answers. In a pod the log is the job's output.
const warnInterval = time.Minute

// servers yields the server that answered last, and then the others. It looks up their names only then, so that leases
// are renewed without a name service as long as that server answers.
func (h *Holder) servers(ctx context.Context, limit time.Duration) iter.Seq2[string, error] {
	h.mu.Lock()
	last, urls := h.answers, slices.Clone(h.urls)
	h.mu.Unlock()
	return func(yield func(string, error) bool) {
		if last != "" && !yield(last, nil) {
			return
		}
		for _, url := range urls {
			all, err := h.resolve(ctx, url, limit)
			if err != nil && !yield("", err) {
				return
			}
			for _, one := range all {
				if one != last && !yield(one, nil) {
					return
				}
			}
		}
	}
}

// resolve returns the servers at a URL: one for each address of its host. The name of a headless Service has the
// addresses of all servers, of which only the leader answers; a connection to the name would reach one of them, and
// perhaps always the same.
func (h *Holder) resolve(ctx context.Context, text string, limit time.Duration) (all []string, err error) {
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
		at := *u
		at.Host = net.JoinHostPort(address, cmp.Or(u.Port(), "80"))
		all = append(all, at.String())
	}
	return all, nil
}

// request returns the next request.
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

// post sends a request to a server, and returns its answer.
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
