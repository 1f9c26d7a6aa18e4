package auth

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
)

const (
	// readEvery is how often the copy of the document is read again, each time for at most readWithin.
	readEvery  = time.Second
	readWithin = 5 * time.Second
	// freshFor is how long the copy counts after it was read. Then nobody is let in.
	freshFor = time.Minute
	// changeWithin is how long a change is tried.
	changeWithin = 15 * time.Second
	// complainEvery is how often the log says what goes on failing.
	complainEvery = 10 * time.Second
)

// Options say what an Access works with.
type Options struct {
	// Shared keeps the access document.
	Shared registry.Shared
	// FileToken is the token of --api-token-file, which an admin has; empty for none.
	FileToken string
	// KeepAdmin refuses the change after which nobody would be an admin for all apps, unless nobody is left at all. It
	// is for servers that let no admin in by other ways.
	KeepAdmin bool
	// LoginLifetime is how long a login lasts, 12 h when zero, at most MaxLoginLifetime.
	LoginLifetime time.Duration
	// Now is the clock, time.Now when nil; Random where secrets come from, crypto/rand when nil.
	Now    func() time.Time
	Random io.Reader
	// Logger gets what an operator should know; nil: nobody.
	Logger *slog.Logger
}

// Access answers for every request who it is from, and changes who may do what. All methods may be called
// concurrently.
type Access struct {
	shared    registry.Shared
	fileToken [sha256.Size]byte
	hasFile   bool
	keepAdmin bool
	lifetime  time.Duration
	now       func() time.Time
	random    io.Reader
	log       *slog.Logger
	hasher    *hasher

	copy    atomic.Pointer[snapshot]
	readAt  atomic.Pointer[time.Time]
	trouble atomic.Pointer[error] // why the last read failed

	// turn is held by who reads or changes the document, so that the copy never goes back to what was read before a
	// change.
	turn chan struct{}

	limits struct {
		sync.Mutex
		*limiter
	}
}

// New makes an Access. It reads nothing yet: Refresh does, and Run goes on doing so.
func New(o Options) (*Access, error) {
	if o.Random == nil {
		o.Random = rand.Reader
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	lifetime := cmp.Or(o.LoginLifetime, DefaultLoginLifetime)
	if err := CheckLoginLifetime(lifetime); err != nil {
		return nil, err
	}
	h, err := newHasher(o.Random)
	if err != nil {
		return nil, err
	}
	d := &Access{
		shared: o.Shared, fileToken: sha256.Sum256([]byte(o.FileToken)), hasFile: o.FileToken != "",
		keepAdmin: o.KeepAdmin,
		lifetime:  lifetime, now: o.Now, random: o.Random, log: o.Logger, hasher: h, turn: make(chan struct{}, 1),
	}
	d.limits.limiter = newLimiter()
	return d, nil
}

// Run keeps the copy of the access document, which it makes where there was none at its start. It returns when ctx
// ends.
func (d *Access) Run(ctx context.Context) {
	tick := time.NewTicker(readEvery)
	defer tick.Stop()
	var said time.Time
	for {
		err := d.Refresh(ctx)
		switch now := time.Now(); {
		case ctx.Err() != nil:
			return
		case err != nil && now.Sub(said) >= complainEvery:
			said = now
			d.log.Warn("users and tokens not read: trying on; nobody is let in when that fails for longer",
				"closed after", freshFor, "error", err)
		case err == nil && !said.IsZero():
			said = time.Time{}
			d.log.Info("users and tokens read again")
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Refresh reads the access document now. One that is not there is made, unless it was there before: then somebody has
// removed it, and only a new start takes that for a beginning. Nor is one taken that is older than the copy: a session
// with another server of the registry may read what was there before a user was removed, or before the first one was
// made.
func (d *Access) Refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	err := d.refresh(ctx)
	if err != nil {
		d.trouble.Store(&err)
	}
	return err
}

func (d *Access) refresh(ctx context.Context) error {
	done, err := d.takeTurn(ctx)
	if err != nil {
		return err
	}
	defer done()
	began := d.now()
	e, err := d.shared.ReadShared(ctx, sharedName)
	switch old := d.copy.Load(); {
	case errors.Is(err, registry.ErrNotFound) && old == nil:
		return d.create(ctx)
	case errors.Is(err, registry.ErrNotFound):
		return fmt.Errorf("%w: somebody has removed users, tokens and keys: bring them back, or start the servers again to begin without", err)
	case err != nil:
		return err
	case e.Unreadable != "":
		return errors.New(e.Unreadable)
	case old != nil && old.version == e.Version && old.value == sha256.Sum256(e.Value):
		d.fresh(began)
		return nil
	case old != nil && e.Version < old.version:
		return fmt.Errorf("users and tokens are older than those that were read before (version %d after %d), as of a ZooKeeper server or a replica that lags behind: "+
			"if somebody has brought back a copy of them, start the servers again to take it", e.Version, old.version)
	}
	return d.adopt(e, began)
}

// adopt makes what was read the copy.
func (d *Access) adopt(e registry.Entry, readAt time.Time) error {
	doc, err := parseDocument(e.Value)
	if err != nil {
		return fmt.Errorf("read the shared value %s: %w", sharedName, err)
	}
	d.copy.Store(newSnapshot(doc, e))
	d.fresh(readAt)
	return nil
}

func (d *Access) fresh(readAt time.Time) {
	d.readAt.Store(&readAt)
	d.trouble.Store(nil)
}

// create makes the document. When somebody else is quicker, theirs is read next time.
func (d *Access) create(ctx context.Context) error {
	doc, err := newDocument(d.random)
	if err != nil {
		return err
	}
	began := d.now()
	value, err := doc.encode()
	if err != nil {
		return err
	}
	version, err := d.shared.WriteShared(ctx, sharedName, value, registry.Absent())
	if err != nil {
		e, readErr := d.shared.ReadShared(ctx, sharedName)
		if readErr != nil {
			return errors.Join(err, readErr)
		}
		return d.adopt(e, began)
	}
	d.log.Info("keys made", "shared value", sharedName)
	return d.adopt(registry.Entry{Value: value, Version: version}, began)
}

// takeTurn waits until nobody else reads or changes the document.
func (d *Access) takeTurn(ctx context.Context) (done func(), err error) {
	select {
	case d.turn <- struct{}{}:
		return func() { <-d.turn }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the access document: %w", ctx.Err())
	}
}

// known is the copy, while it is fresh.
func (d *Access) known() (*snapshot, error) {
	s, at := d.copy.Load(), d.readAt.Load()
	if s != nil && at != nil {
		if age := d.now().Sub(*at); age < freshFor {
			return s, nil
		}
	}
	if trouble := d.trouble.Load(); trouble != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, *trouble)
	}
	return nil, fmt.Errorf("%w: users and tokens have not been read yet", ErrUnavailable)
}

// State is whether a login is needed.
type State int

// The states.
const (
	// Unknown: the access document was not read yet, or not for a minute. Nobody is let in.
	Unknown State = iota
	// Empty: there is no user, no API token and no token file.
	Empty
	// Closed: everybody has to say who they are.
	Closed
)

// State says whether a login is needed. It asks nobody.
func (d *Access) State() State {
	s, err := d.known()
	switch {
	case err != nil:
		return Unknown
	case len(s.Users) == 0 && len(s.Tokens) == 0 && !d.hasFile:
		return Empty
	}
	return Closed
}

// Unavailable is why the state is Unknown, an ErrUnavailable; nil when it is not.
func (d *Access) Unavailable() error {
	_, err := d.known()
	return err
}

// Sign returns a code of what that only servers of this cluster can make, for a purpose of its own: by it followers
// prove themselves. Nil when the key is not known at present.
func (d *Access) Sign(purpose string, what []byte) []byte {
	s, err := d.known()
	if err != nil {
		return nil
	}
	return mac(s.Keys.Proof, purpose, what)
}

// Verify reports whether a server of this cluster has made the code, by Sign for the same purpose.
func (d *Access) Verify(purpose string, what, code []byte) bool {
	s, err := d.known()
	return err == nil && hmac.Equal(mac(s.Keys.Proof, purpose, what), code)
}

func mac(k key, purpose string, what []byte) []byte {
	h := hmac.New(sha256.New, k)
	_, _ = fmt.Fprintf(h, "%d %s ", len(purpose), purpose) // a hash takes everything
	_, _ = h.Write(what)
	return h.Sum(nil)
}

// Exists reports whether the registry has an access document: whether a server, or a command, has made one.
func Exists(ctx context.Context, shared registry.Shared) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, changeWithin)
	defer cancel()
	_, err := shared.ReadShared(ctx, sharedName)
	if errors.Is(err, registry.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
