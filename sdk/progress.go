package sdk

import (
	"math"
	"sync"
	"time"
	"unicode/utf8"
)

// maxMessage is the maximum length of the message of a progress, in bytes.
const maxMessage = 200

// progress sends the latest progress of a run: the first report at once, then at most one per interval, and at the end
// of the run a report that is still unsent. A report replaces an unsent one. A nil progress does nothing.
type progress struct {
	every time.Duration
	send  func(fraction float64, message string)

	// sending is held during a call of send, which may block. set never acquires it, so set never blocks.
	sending sync.Mutex
	mu      sync.Mutex // guards the fields below
	newest  struct {
		fraction float64
		message  string
	}
	unsent bool // newest is unsent, and a timer to send it is set
	last   time.Time
	closed bool
}

func (p *progress) set(fraction float64, message string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.newest.fraction, p.newest.message = fraction, message
	if !p.unsent {
		p.unsent = true
		time.AfterFunc(p.every-time.Since(p.last), func() { p.flush(false) })
	}
}

// close sends an unsent report. After it returns, nothing is sent.
func (p *progress) close() { p.flush(true) }

func (p *progress) flush(last bool) {
	p.sending.Lock()
	defer p.sending.Unlock()
	p.mu.Lock()
	newest, unsent := p.newest, p.unsent
	p.unsent, p.last, p.closed = false, time.Now(), p.closed || last
	p.mu.Unlock()
	if unsent {
		p.send(bounded(newest.fraction), cut(newest.message, maxMessage))
	}
}

// bounded returns the fraction limited to 0 to 1; 0 for NaN.
func bounded(fraction float64) float64 {
	if math.IsNaN(fraction) {
		return 0
	}
	return min(max(fraction, 0), 1)
}

// cut returns the beginning of a text: as many whole characters as fit into limit bytes.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
