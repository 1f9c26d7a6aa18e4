package auth

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
)

const (
	// readInterval is the interval at which the access document is read again, and readTimeout the timeout of one
	// read.
	readInterval = time.Second
	readTimeout  = 5 * time.Second
	// validFor is how long a copy stays valid after it was read. Without a valid copy no request is admitted.
	validFor = time.Minute
	// changeTimeout is the timeout of a change.
	changeTimeout = 15 * time.Second
	// warnInterval is the interval at which the log repeats a lasting failure.
	warnInterval = 10 * time.Second
)

// Options are the settings and dependencies of an Access.
type Options struct {
	// Shared stores the access document.
	Shared registry.Shared
	// FileToken is the token of --api-token-file, which grants the role admin; empty if there is none.
	FileToken string
	// KeepAdmin makes Access refuse a change after which no admin for all apps is left, unless no user and token is
	// left at all. It is set on servers that admit no admin in another way.
	KeepAdmin bool
	// LoginLifetime is how long a login lasts; 12 h if zero, at most MaxLoginLifetime.
	LoginLifetime time.Duration
	// Now is the clock, time.Now if nil.
	Now func() time.Time
	// Logger receives the messages for operators; nil discards them.
	Logger *slog.Logger
}

// Access authenticates requests, and changes users and tokens with their grants. All methods may be called
// concurrently.
type Access struct {
	shared    registry.Shared
	fileToken [sha256.Size]byte
	hasFile   bool
	keepAdmin bool
	lifetime  time.Duration
	now       func() time.Time
	log       *slog.Logger
	hasher    *hasher

	copy      atomic.Pointer[snapshot]
	readAt    atomic.Pointer[time.Time]
	readError atomic.Pointer[error] // the error of the last failed read

	// slot serializes reads and changes of the document, so that a read that began before a change never replaces the
	// newer copy.
	slot chan struct{}

	limits struct {
		sync.Mutex
		*limiter
	}
}

// New creates an Access. It reads nothing; Refresh reads the document once, and Run keeps it up to date.
func New(o Options) (*Access, error) {
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
	d := &Access{
		shared: o.Shared, fileToken: sha256.Sum256([]byte(o.FileToken)), hasFile: o.FileToken != "",
		keepAdmin: o.KeepAdmin,
		lifetime:  lifetime, now: o.Now, log: o.Logger, hasher: newHasher(), slot: make(chan struct{}, 1),
	}
	d.limits.limiter = newLimiter()
	return d, nil
}

// Run keeps the copy of the access document up to date, and creates the document if there is none at the start. It
// returns when ctx ends.
func (d *Access) Run(ctx context.Context) {
	tick := time.NewTicker(readInterval)
	defer tick.Stop()
	var warned time.Time
	for {
		err := d.Refresh(ctx)
		switch now := time.Now(); {
		case ctx.Err() != nil:
			return
		case err != nil && now.Sub(warned) >= warnInterval:
			warned = now
			d.log.Warn("users and tokens not read, retrying: all callers are refused if this lasts",
				"after", validFor, "error", err)
		case err == nil && !warned.IsZero():
			warned = time.Time{}
			d.log.Info("users and tokens read again")
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Refresh reads the access document now. It creates a missing document only if this server has never seen one:
// otherwise someone has removed it, and only a restart may begin without users. It also ignores a document that is
// older than the copy: a session with another server of the registry may return the state before a user was removed,
// or before the first user was created.
func (d *Access) Refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	err := d.refresh(ctx)
	if err != nil {
		d.readError.Store(&err)
	}
	return err
}

func (d *Access) refresh(ctx context.Context) error {
	done, err := d.acquire(ctx)
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
		return fmt.Errorf("%w: users, tokens and keys were removed from the registry: restore them, or restart the servers to begin without users", err)
	case err != nil:
		return err
	case e.Unreadable != "":
		return errors.New(e.Unreadable)
	case old != nil && old.version == e.Version && old.value == sha256.Sum256(e.Value):
		d.markFresh(began)
		return nil
	case old != nil && e.Version < old.version:
		return fmt.Errorf("users and tokens are older than those read before (version %d after %d), perhaps from a ZooKeeper server or a replica that lags behind: if a copy of them was restored, restart the servers to use it", e.Version, old.version)
	}
	return d.adopt(e, began)
}

// adopt makes the document that was read the current copy.
func (d *Access) adopt(e registry.Entry, readAt time.Time) error {
	doc, err := parseDocument(e.Value)
	if err != nil {
		return fmt.Errorf("read the shared value %s: %w", sharedName, err)
	}
	d.copy.Store(newSnapshot(doc, e))
	d.markFresh(readAt)
	return nil
}

func (d *Access) markFresh(readAt time.Time) {
	d.readAt.Store(&readAt)
	d.readError.Store(nil)
}

// create creates the document. If another process was first, the next read returns that process's document.
func (d *Access) create(ctx context.Context) error {
	doc := newDocument()
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
	d.log.Info("signing keys created", "value", sharedName)
	return d.adopt(registry.Entry{Value: value, Version: version}, began)
}

// acquire waits for the exclusive right to read or change the document.
func (d *Access) acquire(ctx context.Context) (done func(), err error) {
	select {
	case d.slot <- struct{}{}:
		return func() { <-d.slot }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the access document: %w", ctx.Err())
	}
}

// current returns the copy while it is valid.
func (d *Access) current() (*snapshot, error) {
	s, at := d.copy.Load(), d.readAt.Load()
	if s != nil && at != nil {
		if age := d.now().Sub(*at); age < validFor {
			return s, nil
		}
	}
	if trouble := d.readError.Load(); trouble != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, *trouble)
	}
	return nil, fmt.Errorf("%w: users and tokens have not been read yet", ErrUnavailable)
}

// State says whether requests must be authenticated.
type State int

// The states of an Access.
const (
	// Unknown: the access document has not been read yet, or not for a minute. No request is admitted.
	Unknown State = iota
	// Empty: there is no user, no API token and no token file, so there is nothing to authenticate with.
	Empty
	// Closed: every request must be authenticated.
	Closed
)

// State returns the current state. It does not block.
func (d *Access) State() State {
	s, err := d.current()
	switch {
	case err != nil:
		return Unknown
	case len(s.Users) == 0 && len(s.Tokens) == 0 && !d.hasFile:
		return Empty
	}
	return Closed
}

// Sign returns the signature of a message, which only servers of this cluster can make. A signature is valid for one
// purpose. Followers authenticate themselves with it. Sign returns nil while the key is unknown.
func (d *Access) Sign(purpose string, message []byte) []byte {
	s, err := d.current()
	if err != nil {
		return nil
	}
	return mac(s.Keys.Proof, purpose, message)
}

// Verify reports whether a server of this cluster has made the signature, by Sign with the same purpose.
func (d *Access) Verify(purpose string, message, signature []byte) bool {
	s, err := d.current()
	return err == nil && hmac.Equal(mac(s.Keys.Proof, purpose, message), signature)
}

func mac(k key, purpose string, message []byte) []byte {
	h := hmac.New(sha256.New, k)
	_, _ = fmt.Fprintf(h, "%d %s ", len(purpose), purpose) // a hash never fails
	_, _ = h.Write(message)
	return h.Sum(nil)
}

// Exists reports whether the registry has an access document, created by a server or a command.
func Exists(ctx context.Context, shared registry.Shared) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	_, err := shared.ReadShared(ctx, sharedName)
	if errors.Is(err, registry.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
