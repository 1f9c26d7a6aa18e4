// Package registry is the interface of the storage for configuration and state that must survive a change of leader.
// The implementations are registry/embedded (one file), registry/database (SQL) and registry/zookeeper. registrytest
// is the test suite that each implementation passes.
//
// A registry is a tree of small values under slash-separated paths. Only the leader writes, in a Term. A commit is
// atomic and checks the conditions of its writes. It is fenced, so that the commit of a deposed leader fails (rule
// T2).
package registry

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Registry elects leaders and begins their terms.
type Registry interface {
	// Campaign waits until this process leads, begins a term with a fenced write (rule T1) and returns the term. The
	// other processes see the address as the leader's. An error that is ErrUnusable is permanent; after any other
	// error the caller may retry. If the registry was usable before, Campaign waits until it is usable again.
	Campaign(ctx context.Context, address string) (Term, error)
	// Leader returns the leader as this process knows it, or false if it knows none. It sends no request and never
	// blocks. It may be called concurrently.
	Leader() (Leader, bool)
	Close() error
}

// Shared stores a few values outside all terms. Every process that has the registry open may read and change them,
// whether it leads or not. A write has the version that was read as its condition, so that no process overwrites a
// value that it has not read. Shared is for data that is managed with or without a leader, such as the users of the
// API. All methods may be called concurrently.
type Shared interface {
	// ReadShared returns a value by its name ([a-z][a-z-]{0,30}), or ErrNotFound. Entry.Path is the name.
	ReadShared(ctx context.Context, name string) (Entry, error)
	// WriteShared stores a value if the condition holds, and returns its new version. The condition must be Absent or
	// AtVersion. The error is *Conflict if the condition does not hold, and ErrTooLarge if the value is too large. If
	// it is ErrOutcomeUnknown, the value may have been stored, and the caller must read it again.
	WriteShared(ctx context.Context, name string, value []byte, condition Condition) (version int64, err error)
}

// Leader is a leader: the number of its term, the address under which other processes reach it, and the time at which
// its term began.
type Leader struct {
	Term    int64
	Address string
	Since   time.Time
}

// MaxValue is the maximum size of a value in bytes. A value of this size fits into one ZooKeeper request.
const MaxValue = 1_000_000

// Term is the period in which one process leads, from its election on. Commit must not be called concurrently with
// itself; all other methods may be called concurrently.
type Term interface {
	// Number returns the number of the term. It is higher than the numbers of all earlier terms.
	Number() int64
	// Done returns a channel that is closed when this process knows that the term has ended. Err then returns why.
	Done() <-chan struct{}
	Err() error
	// List returns all entries below the path with their values, sorted by path. The entry at the path itself is not
	// included. The path "/" returns all entries. The caller may keep and change the result.
	List(ctx context.Context, path string) ([]Entry, error)
	// Get returns one entry, or ErrNotFound. There need not be an entry at a path that has entries below it.
	Get(ctx context.Context, path string) (Entry, error)
	// Commit makes all writes or none, whatever their number and size (rule T5). If it is interrupted, the next term
	// reads all of them or none. If the outcome of a try is unknown, Commit determines it before it returns (rule T3).
	// The writes are made in their order: the condition of a write applies to the result of earlier writes to the same
	// path. All entries below a path must be deleted before the entry at the path, at the latest in the same commit.
	// An empty commit is a fenced write too.
	//
	// The error is *Conflict if a condition does not hold, and ErrTooLarge if a value is too large. In both cases
	// nothing was written, and the term continues. The error is ErrTermEnded if the fence refused the commit or the
	// session has ended. It is also ErrOutcomeUnknown if the term ended without an answer to the commit. After any
	// other error, for example for a missing permission, nothing was written, and the term continues.
	//
	// Reads of this term that begin after Commit has returned show the whole commit. A reader outside of terms, such
	// as a user, may for a moment see only a part of a large commit. An external edit at that moment counts as made
	// after the commit.
	Commit(ctx context.Context, writes []Write) error
	// Confirm reads from the registry whether this is still the present term. If it returns nil, no later term had
	// begun when Confirm was called. The error is ErrTermEnded if this term has ended. Any other error means that the
	// registry did not answer, so that nothing is known.
	Confirm(ctx context.Context) error
	// Changed returns a channel of the paths of entries that others may have created, changed or deleted since the
	// term began: users may edit the entries under /config and /state/disable. A change of an entry's read permission
	// may be reported late. The term's own commits may be reported too. Changed returns nil if only terms can write to
	// the registry.
	Changed() <-chan string
	// Resign ends the term, so that the next leader can begin at once.
	Resign(ctx context.Context) error
}

// Entry is a stored value. Version is 0 when the entry is created, and grows by one with each write.
type Entry struct {
	Path    string
	Value   []byte
	Version int64
	// Unreadable is a text that says why the value can't be read, for example because its read permission was removed,
	// and what to do. Value is then nil, and List leaves out the entries below the path. It is always empty in a
	// registry in which only terms can write.
	Unreadable string
}

// Write is one change of a commit. Paths follow CheckPath.
type Write struct {
	Path string
	// Value is stored unless Delete is set. A nil Value is stored as empty.
	Value  []byte
	Delete bool
	// If is the condition. The zero Condition always holds. Without a condition, a write creates or sets the entry,
	// and the deletion of a missing entry does nothing.
	If Condition
}

// Condition is a condition on the entry at a path. A commit is made only if all its conditions hold.
type Condition struct {
	kind    conditionKind
	version int64
}

type conditionKind uint8

const (
	anything conditionKind = iota
	absent
	atVersion
)

// Absent requires that the entry does not exist.
func Absent() Condition { return Condition{kind: absent} }

// AtVersion requires that the entry exists with this version.
func AtVersion(v int64) Condition { return Condition{kind: atVersion, version: v} }

// Met reports whether the condition holds. exists says whether there is an entry, version is the entry's version. Only
// implementations call it.
func (c Condition) Met(exists bool, version int64) bool {
	switch c.kind {
	case absent:
		return !exists
	case atVersion:
		return exists && version == c.version
	default:
		return true
	}
}

// IsZero reports whether the condition is the zero Condition, which always holds.
func (c Condition) IsZero() bool { return c.kind == anything }

// WantsAbsent reports whether the condition is Absent.
func (c Condition) WantsAbsent() bool { return c.kind == absent }

// Version returns the version that AtVersion requires, and false for other conditions.
func (c Condition) Version() (int64, bool) { return c.version, c.kind == atVersion }

// These are the errors of a registry.
var (
	ErrNotFound       = errors.New("not in the registry")
	ErrTooLarge       = errors.New("too large for the registry")
	ErrTermEnded      = errors.New("the term has ended")
	ErrOutcomeUnknown = errors.New("may have been done")
	// ErrUnusable means that retries do not help, for example because of a wrong address, a missing permission or a
	// damaged file.
	ErrUnusable = errors.New("the registry can't be used")
)

// Conflict is the error of a write whose condition on the path does not hold. Nothing was written.
type Conflict struct{ Path string }

func (c *Conflict) Error() string { return fmt.Sprintf("%s has changed or exists already", c.Path) }
