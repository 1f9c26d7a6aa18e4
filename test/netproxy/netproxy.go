// Package netproxy is a TCP proxy for tests that causes the faults of networks: it can reset connections, drop or
// delay their data, and end one direction.
//
//	client ──► Proxy.Address() ──► two pumps per connection ──► target
//
// A fault applies to existing and new connections until Heal, unless its method says otherwise. Methods are safe for
// concurrent use. The proxy and all of its goroutines end with the test.
package netproxy

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

type mode int

const (
	passing mode = iota
	cut
	blackhole
)

// forever is an unlimited budget.
const forever = -1

// Proxy forwards connections to a target.
type Proxy struct {
	listener net.Listener
	ctx      context.Context
	work     sync.WaitGroup

	mu      sync.Mutex
	target  string
	mode    mode
	changed chan struct{} // closed at every change of mode
	delay   time.Duration
	budget  int64 // the number of bytes that may still be sent to clients
	links   map[*link]struct{}
}

// Start starts to forward connections to the target, "host:port", which need not be running.
func Start(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("proxy for %s: %v", target, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &Proxy{
		listener: l, target: target, ctx: ctx,
		changed: make(chan struct{}), budget: forever, links: map[*link]struct{}{},
	}
	p.work.Go(p.accept)
	t.Cleanup(func() {
		cancel()
		_ = l.Close()
		p.reset()
		p.work.Wait()
	})
	return p
}

// Address returns the address on which the proxy listens, "127.0.0.1:port".
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Cut resets all connections, and each new one as soon as it is made.
func (p *Proxy) Cut() {
	p.set(cut)
	p.reset()
}

// FailOver resets all connections, and forwards new ones to another target, "host:port".
func (p *Proxy) FailOver(target string) {
	p.mu.Lock()
	p.target = target
	p.mu.Unlock()
	p.reset()
}

// Blackhole keeps connections open, accepts new ones and forwards nothing. Data that arrives meanwhile is forwarded
// after Heal, like TCP after a short outage of the network.
func (p *Proxy) Blackhole() { p.set(blackhole) }

// Heal ends Cut, Blackhole, Delay and DropAfter. Connections that were reset or half closed stay so.
func (p *Proxy) Heal() {
	p.mu.Lock()
	p.delay, p.budget = 0, forever
	p.mu.Unlock()
	p.set(passing)
}

// Delay delays everything by d, in both directions.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// HalfClose ends the direction to the client in the existing connections: clients read an end of file, and the data
// that they send still arrives.
func (p *Proxy) HalfClose() {
	for _, l := range p.all() {
		l.toClient.end()
	}
}

// HalfCloseToTarget ends the other direction: the target reads an end of file, and the data that it sends still
// arrives.
func (p *Proxy) HalfCloseToTarget() {
	for _, l := range p.all() {
		p.mu.Lock()
		toTarget := l.toTarget
		p.mu.Unlock()
		if toTarget != nil { // otherwise it is not connected yet
			toTarget.end()
		}
	}
}

// DropAfter forwards n more bytes to clients, over all connections, and then resets the connection with the next
// byte, once. With 0, a request arrives and its answer is lost.
func (p *Proxy) DropAfter(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.budget = n
}

func (p *Proxy) set(m mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = m
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Proxy) all() []*link {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]*link, 0, len(p.links))
	for l := range p.links {
		out = append(out, l)
	}
	return out
}

func (p *Proxy) reset() {
	for _, l := range p.all() {
		l.reset()
	}
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		l := &link{proxy: p}
		l.ctx, l.cancel = context.WithCancel(p.ctx)
		l.toClient = &pump{link: l, to: conn.(*net.TCPConn), client: true}
		p.mu.Lock()
		p.links[l] = struct{}{}
		p.mu.Unlock()
		p.work.Go(l.run)
	}
}

// open waits until connections are forwarded. It returns false if the link ends first.
func (p *Proxy) open(l *link) bool {
	for {
		p.mu.Lock()
		m, changed := p.mode, p.changed
		p.mu.Unlock()
		switch m {
		case passing:
			return l.ctx.Err() == nil
		case cut:
			l.reset()
			return false
		}
		select {
		case <-changed:
		case <-l.ctx.Done():
			return false
		}
	}
}

// spend subtracts n bytes from the budget. It returns how many may be sent, and whether the link must end after them.
func (p *Proxy) spend(n int) (allowed int, end bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.budget == forever {
		return n, false
	}
	if int64(n) <= p.budget {
		p.budget -= int64(n)
		return n, false
	}
	allowed = int(p.budget)
	p.budget = forever
	return allowed, true
}

// link is a connection from a client with its connection to the target.
type link struct {
	proxy              *Proxy
	ctx                context.Context
	cancel             context.CancelFunc
	toClient, toTarget *pump
}

func (l *link) run() {
	defer l.leave()
	if !l.proxy.open(l) {
		return
	}
	l.proxy.mu.Lock()
	target := l.proxy.target
	l.proxy.mu.Unlock()
	conn, err := (&net.Dialer{}).DialContext(l.ctx, "tcp", target)
	if err != nil {
		return
	}
	l.proxy.mu.Lock()
	l.toTarget = &pump{link: l, to: conn.(*net.TCPConn)}
	l.proxy.mu.Unlock()
	defer context.AfterFunc(l.ctx, func() { abort(l.toTarget.to) })()
	defer context.AfterFunc(l.ctx, func() { abort(l.toClient.to) })()
	var both sync.WaitGroup
	both.Go(func() { l.toTarget.run(l.toClient.to) })
	both.Go(func() { l.toClient.run(l.toTarget.to) })
	both.Wait()
	if l.ctx.Err() == nil { // both ends of file were forwarded, so no reset is necessary
		_ = l.toTarget.to.Close()
		_ = l.toClient.to.Close()
	}
}

func (l *link) leave() {
	l.reset()
	abort(l.toClient.to)
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	delete(l.proxy.links, l)
}

func (l *link) reset() { l.cancel() }

// abort closes a connection with a reset.
func abort(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}

// pump forwards one direction. It reads and writes concurrently, so that a delay does not block reading.
type pump struct {
	link   *link
	to     *net.TCPConn
	client bool

	mu    sync.Mutex
	ended bool
}

type chunk struct {
	data []byte
	due  time.Time
}

func (p *pump) run(from *net.TCPConn) {
	queue := make(chan chunk, 256)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(queue)
		p.read(from, queue)
	})
	if p.write(queue) {
		p.end()
	} else {
		p.link.reset()
	}
	reading.Wait()
}

// read returns at the end of file, and resets the link if the connection breaks.
func (p *pump) read(from *net.TCPConn, queue chan<- chunk) {
	for {
		buf := make([]byte, 16<<10)
		n, err := from.Read(buf)
		if n > 0 {
			p.link.proxy.mu.Lock()
			due := time.Now().Add(p.link.proxy.delay)
			p.link.proxy.mu.Unlock()
			select {
			case queue <- chunk{buf[:n], due}:
			case <-p.link.ctx.Done():
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				p.link.reset()
			}
			return
		}
	}
}

// write reports whether everything was forwarded.
func (p *pump) write(queue <-chan chunk) bool {
	for c := range queue {
		if wait := time.Until(c.due); wait > 0 {
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-p.link.ctx.Done():
				timer.Stop()
				return false
			}
		}
		if !p.link.proxy.open(p.link) {
			return false
		}
		allowed, end := len(c.data), false
		if p.client {
			allowed, end = p.link.proxy.spend(len(c.data))
		}
		if !p.pass(c.data[:allowed]) || end {
			return false
		}
	}
	return p.link.proxy.open(p.link)
}

// pass writes data, or drops it after the end of the direction.
func (p *pump) pass(data []byte) bool {
	p.mu.Lock()
	ended := p.ended
	p.mu.Unlock()
	if ended {
		return true
	}
	_, err := p.to.Write(data)
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.ended
	}
	return true
}

// end sends an end of file.
func (p *pump) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.ended = true
		_ = p.to.CloseWrite()
	}
}
