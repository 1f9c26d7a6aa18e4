// Package registry stores configuration and state that must survive a change of leader, behind a small interface. The
// implementations are registry/embedded (one file), registry/database (SQL) and registry/zookeeper; registrytest is
// the test suite that each of them passes.
//
// A registry is a tree of small values under slash-separated paths. Only the leader writes, in a Term. A commit is
// atomic, checks the versions that its conditions name, is counted, and is fenced, so that the commit of a deposed
// leader fails (rule T2).
package registry

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Registry elects leaders and begins their terms.
type Registry interface {
	// Campaign waits until this process leads, begins a term with a fenced write (rule T1) and returns it. who is the
	// address of this process that other processes see as the leader's. An error that is ErrUnusable is permanent; the
	// caller may retry after any other. Campaign keeps waiting for a registry that could be used before, because it
	// may come back.
	Campaign(ctx context.Context, who string) (Term, error)
	// Leader returns the current leader as far as this process knows, or false when it knows of none. It sends no
	// request and never blocks. It may be called concurrently.
	Leader() (Leader, bool)
	Close() error
}

// Shared stores a few values outside all terms. Every process that has the registry open may read and change them,
// whether or not it leads. A write names the version that was read, so that no process overwrites a value that it has
// not seen. Shared is for data that users manage with or without a leader, such as the users of the API. All methods
// may be called concurrently.
type Shared interface {
	// ReadShared returns a value by its name ([a-z][a-z-]{0,30}), or ErrNotFound. Entry.Path holds the name.
	ReadShared(ctx context.Context, name string) (Entry, error)
	// WriteShared stores a value if the condition holds, and returns its new version. The condition must be Absent or
	// AtVersion. Errors: *Conflict if the condition does not hold; ErrTooLarge; an error that is ErrOutcomeUnknown if
	// the value may or may not have been stored, so that the caller must read it again.
	WriteShared(ctx context.Context, name string, value []byte, condition Condition) (version int64, err error)
}

// Leader is a leader: its term, the address under which other processes reach it, and the time at which its term
// began.
type Leader struct {
	Term    int64
	Address string
	Since   time.Time
}

// MaxValue is the greatest size of one value in bytes. A value of this size fits into one ZooKeeper request with its
// frame.
const MaxValue = 1_000_000

// Term is the time of one leader, from its election to its end. Commit must not be called concurrently with itself;
// all other methods may be called concurrently.
type Term interface {
	// Number returns the number of the term. It is unique and grows from term to term.
	Number() int64
	// Done closes when this process knows that the term has ended; Err then returns why.
	Done() <-chan struct{}
	Err() error
	// List returns all entries strictly below the path, sorted by path, with their values. The path "/" is the root
	// and returns all entries. The caller may keep and change the result.
	List(ctx context.Context, path string) ([]Entry, error)
	// Get returns one entry, or ErrNotFound. A path does not exist merely because entries below it exist.
	Get(ctx context.Context, path string) (Entry, error)
	// Commit makes all writes or none, whatever their number and size (rule T5): if it is interrupted, the next term
	// reads all of them or none. If the outcome of a try is unknown, Commit finds it out before it returns (rule T3).
	// Writes happen in their order, so a later write sees the earlier ones of the same path. All entries below a path
	// must be deleted before the entry itself, at the latest in the same commit. An empty commit is a fenced write
	// too.
	//
	// Errors: *Conflict if a condition does not hold (the term continues); ErrTooLarge, before anything is written, if
	// a value is too large; ErrTermEnded if the fence refused the commit or the session has ended; an error that is
	// also ErrOutcomeUnknown if the term ended without an answer. After any other error, such as a missing permission,
	// nothing was written and the term continues.
	//
	// Reads of this term that begin after Commit has returned see all of it. People, who read outside terms, may see a
	// large commit half applied for a moment. An external edit at that moment counts as made after the commit.
	Commit(ctx context.Context, writes []Write) error
	// Changed reports the paths of entries that someone other than this term may have created, changed or deleted
	// since the term began: users may edit the entries under /config and /state/disable. A change of an entry's read
	// permission may be reported late. Commits of the term itself may be reported too. Changed returns nil if only
	// terms can write to the registry.
	Changed() <-chan string
	// Resign ends the term, so that the next leader can begin at once.
	Resign(ctx context.Context) error
}

// Entry is one stored value. Version is 0 when created and grows by one per write.
type Entry struct {
	Path    string
	Value   []byte
	Version int64
	// Unreadable says, if not empty, why the value can't be read (its read permission was removed) and what to do.
	// Value is nil then, and List leaves out the entries below. It is always empty in a registry that only terms can
	// write to.
	Unreadable string
}

// Write is one change of a commit. Paths follow CheckPath.
type Write struct {
	Path string
	// Value is stored unless Delete is set. A nil Value is stored as empty.
	Value  []byte
	Delete bool
	// If is the condition. The zero Condition always holds: a put creates or sets the entry, and a delete of a missing
	// entry does nothing.
	If Condition
}

// Condition is a condition on the entry of a path. The commit happens only if it holds.
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

// Met reports whether the condition holds for an entry that exists with the version, or, if there is false, does not
// exist. Only implementations call it.
func (c Condition) Met(there bool, version int64) bool {
	switch c.kind {
	case absent:
		return !there
	case atVersion:
		return there && version == c.version
	default:
		return true
	}
}

// Any reports whether there is no condition, so that any entry meets it.
func (c Condition) Any() bool { return c.kind == anything }

// WantsAbsent reports whether the condition is Absent.
func (c Condition) WantsAbsent() bool { return c.kind == absent }

// Version returns the version that AtVersion requires, and false for other conditions.
func (c Condition) Version() (int64, bool) { return c.version, c.kind == atVersion }

// Errors of a registry.
var (
	ErrNotFound       = errors.New("not in the registry")
	ErrTooLarge       = errors.New("too large for the registry")
	ErrTermEnded      = errors.New("the term has ended")
	ErrOutcomeUnknown = errors.New("may have been done")
	// ErrUnusable is an error that no retry resolves: a wrong address, a missing permission, a damaged store.
	ErrUnusable = errors.New("the registry can't be used")
)

// Conflict is the error of a commit of which one condition does not hold. Nothing was written.
type Conflict struct{ Path string }

func (c *Conflict) Error() string { return fmt.Sprintf("%s has changed or exists already", c.Path) }
