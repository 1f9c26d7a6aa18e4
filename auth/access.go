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
	// readInterval is the interval at which the access document is read. Each read has the timeout readTimeout.
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
	// KeepAdmin makes Access refuse a change that removes the last admin for all apps but leaves users or tokens. It
	// is set on servers that have no other way to admit an admin.
	KeepAdmin bool
	// LoginLifetime is how long a login lasts; 12 h if zero, at most MaxLoginLifetime.
	LoginLifetime time.Duration
	// Now is the clock, time.Now if nil.
	Now func() time.Time
	// Logger receives the messages for operators; nil discards them.
	Logger *slog.Logger
}

// Access authenticates requests, and changes users, tokens and their grants. All methods may be called concurrently.
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
	readError atomic.Pointer[error] // the error of the last read, nil if it succeeded

	// slot serializes reads and changes of the document. Otherwise a read that began before a change could replace
	// the newer copy.
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
	a := &Access{
		shared: o.Shared, fileToken: sha256.Sum256([]byte(o.FileToken)), hasFile: o.FileToken != "",
		keepAdmin: o.KeepAdmin,
		lifetime:  lifetime, now: o.Now, log: o.Logger, hasher: newHasher(), slot: make(chan struct{}, 1),
	}
	a.limits.limiter = newLimiter()
	return a, nil
}

// Run keeps the copy of the access document up to date, and creates the document if there is none at the start. It
// returns when ctx ends.
func (a *Access) Run(ctx context.Context) {
	tick := time.NewTicker(readInterval)
	defer tick.Stop()
	var warned time.Time
	for {
		err := a.Refresh(ctx)
		switch now := time.Now(); {
		case ctx.Err() != nil:
			return
		case err != nil && now.Sub(warned) >= warnInterval:
			warned = now
			a.log.Warn("users and tokens not read, retrying: all callers are refused if this lasts",
				"after", validFor, "error", err)
		case err == nil && !warned.IsZero():
			warned = time.Time{}
			a.log.Info("users and tokens read again")
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Refresh reads the access document now.
//
// It creates a missing document only if this server has never seen one. If it has, someone has removed the document;
// Refresh then returns an error, because only a restart may begin without users.
//
// A document that is older than the copy is an error, too: a server of the registry that lags behind may return the
// state before a user was removed, or before the first user was created.
func (a *Access) Refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	err := a.refresh(ctx)
	if err != nil {
		a.readError.Store(&err)
	}
	return err
}

func (a *Access) refresh(ctx context.Context) error {
	release, err := a.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	readAt := a.now()
	e, err := a.shared.ReadShared(ctx, sharedName)
	switch old := a.copy.Load(); {
	case errors.Is(err, registry.ErrNotFound) && old == nil:
		return a.create(ctx)
	case errors.Is(err, registry.ErrNotFound):
		return fmt.Errorf("%w: users, tokens and keys were removed from the registry: restore them, or restart the servers to begin without users", err)
	case err != nil:
		return err
	case e.Unreadable != "":
		return errors.New(e.Unreadable)
	case old != nil && old.version == e.Version && old.value == sha256.Sum256(e.Value):
		a.markFresh(readAt)
		return nil
	case old != nil && e.Version < old.version:
		return fmt.Errorf("users and tokens are older than those read before (version %d after %d), perhaps from a ZooKeeper server or a replica that lags behind: if a copy of them was restored, restart the servers to use it", e.Version, old.version)
	}
	return a.adopt(e, readAt)
}

// adopt makes the entry's document the current copy, valid from the time readAt.
func (a *Access) adopt(e registry.Entry, readAt time.Time) error {
	doc, err := parseDocument(e.Value)
	if err != nil {
		return fmt.Errorf("read the shared value %s: %w", sharedName, err)
	}
	a.copy.Store(newSnapshot(doc, e))
	a.markFresh(readAt)
	return nil
}

// markFresh records that the copy was the stored document at the time readAt.
func (a *Access) markFresh(readAt time.Time) {
	a.readAt.Store(&readAt)
	a.readError.Store(nil)
}

// create creates the document. If the write fails, another process may have been first; then create adopts that
// process's document.
func (a *Access) create(ctx context.Context) error {
	doc := newDocument()
	readAt := a.now()
	value, err := doc.encode()
	if err != nil {
		return err
	}
	version, err := a.shared.WriteShared(ctx, sharedName, value, registry.Absent())
	if err != nil {
		e, readErr := a.shared.ReadShared(ctx, sharedName)
		if readErr != nil {
			return errors.Join(err, readErr)
		}
		return a.adopt(e, readAt)
	}
	a.log.Info("signing keys created", "value", sharedName)
	return a.adopt(registry.Entry{Value: value, Version: version}, readAt)
}

// acquire waits for the exclusive right to read or change the document. The caller calls release when it is finished.
func (a *Access) acquire(ctx context.Context) (release func(), err error) {
	select {
	case a.slot <- struct{}{}:
		return func() { <-a.slot }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the access document: %w", ctx.Err())
	}
}

// current returns the copy. It returns ErrUnavailable if there is none, or if the copy is older than validFor.
func (a *Access) current() (*snapshot, error) {
	s, readAt := a.copy.Load(), a.readAt.Load()
	if s != nil && readAt != nil && a.now().Sub(*readAt) < validFor {
		return s, nil
	}
	if readErr := a.readError.Load(); readErr != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, *readErr)
	}
	return nil, fmt.Errorf("%w: users and tokens have not been read yet", ErrUnavailable)
}

// State says whether requests must be authenticated.
type State int

// The states of an Access.
const (
	// Unknown: the access document was never read, or not in the last minute. No request is admitted.
	Unknown State = iota
	// Empty: there is no user, no API token and no token file, so there is nothing to authenticate with.
	Empty
	// Closed: every request must be authenticated.
	Closed
)

// State returns the current state. It does not block.
func (a *Access) State() State {
	s, err := a.current()
	switch {
	case err != nil:
		return Unknown
	case len(s.Users) == 0 && len(s.Tokens) == 0 && !a.hasFile:
		return Empty
	}
	return Closed
}

// Sign signs a message for one purpose. Only servers of this cluster have the key, so that a follower can authenticate
// itself to the leader. Sign returns nil while no valid copy of the access document is available.
func (a *Access) Sign(purpose string, message []byte) []byte {
	s, err := a.current()
	if err != nil {
		return nil
	}
	return mac(s.Keys.Proof, purpose, message)
}

// Verify reports whether a server of this cluster has signed the message for this purpose. It returns false while no
// valid copy of the access document is available.
func (a *Access) Verify(purpose string, message, signature []byte) bool {
	s, err := a.current()
	return err == nil && hmac.Equal(mac(s.Keys.Proof, purpose, message), signature)
}

// mac returns the HMAC of the purpose and the message. The length before the purpose shows where the purpose ends, so
// that no other purpose and message have the same input.
func mac(k key, purpose string, message []byte) []byte {
	h := hmac.New(sha256.New, k)
	_, _ = fmt.Fprintf(h, "%d %s ", len(purpose), purpose) // a hash never fails
	_, _ = h.Write(message)
	return h.Sum(nil)
}

// Exists reports whether the registry has an access document.
func Exists(ctx context.Context, shared registry.Shared) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	_, err := shared.ReadShared(ctx, sharedName)
	if errors.Is(err, registry.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
