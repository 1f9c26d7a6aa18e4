package sdk

import (
	"math"
	"sync"
	"time"
	"unicode/utf8"
)

// maxMessage is the maximum length of the message of a progress, in bytes.
const maxMessage = 200

// progress sends reports of a run's progress: the first report at once, then at most one per interval. A report
// replaces an unsent one. At the end of the run, a report that is still unsent is sent. A nil progress does nothing.
type progress struct {
	interval time.Duration
	send     func(fraction float64, message string)

	// sending is held during a call of send, which may block. set never acquires it, so set never blocks.
	sending sync.Mutex
	mu      sync.Mutex // guards the fields below
	newest  struct {
		fraction float64
		message  string
	}
	unsent   bool      // newest is unsent, and a timer is set to send it
	lastSent time.Time // when flush was last called
	closed   bool
}

// set reports progress.
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
		time.AfterFunc(p.interval-time.Since(p.lastSent), p.flush)
	}
}

// close sends an unsent report. After it returns, nothing is sent.
func (p *progress) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.flush()
}

// flush sends the newest report if it is unsent.
func (p *progress) flush() {
	p.sending.Lock()
	defer p.sending.Unlock()
	p.mu.Lock()
	newest, unsent := p.newest, p.unsent
	p.unsent, p.lastSent = false, time.Now()
	p.mu.Unlock()
	if unsent {
		p.send(clamp(newest.fraction), cut(newest.message, maxMessage))
	}
}

// clamp limits a fraction to the range from 0 to 1; NaN becomes 0.
func clamp(fraction float64) float64 {
	if math.IsNaN(fraction) {
		return 0
	}
	return min(max(fraction, 0), 1)
}

// cut returns as many whole characters of the beginning of a text as fit into limit bytes.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
