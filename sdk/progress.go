package sdk

import (
	"math"
	"sync"
	"time"
	"unicode/utf8"
)

// maxMessage bounds the message of a progress, in bytes.
const maxMessage = 200

// progress passes on the newest of what a run says of how far it has come: the first at once, then one each interval,
// and what is left at the run's end. What is said in between replaces what has not been sent. A nil progress does
// nothing.
type progress struct {
	every time.Duration
	send  func(fraction float64, message string)

	// sending is held while something is sent, which may take long: set never waits for it.
	sending sync.Mutex
	mu      sync.Mutex // for what follows
	newest  struct {
		fraction float64
		message  string
	}
	unsent bool // newest has not been sent, and a timer is set that will do it
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

// close sends what is left. When it has returned nothing is sent any more.
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

// bounded is a fraction from 0 to 1, 0 for what is no number.
func bounded(fraction float64) float64 {
	if math.IsNaN(fraction) {
		return 0
	}
	return min(max(fraction, 0), 1)
}

// cut is the beginning of a text, of at most so many bytes and of whole characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
