// Package registry keeps configuration and state that outlive a leader, behind
// a small interface. registry/embedded keeps them in one file; registrytest is the
// suite that every implementation passes.
//
// A registry is a tree of small values under slash-separated paths. All writing is done in
// a Term, by the one leader: a commit is atomic, checks the versions that it names, is fenced (rule
// T2: a deposed leader's commit fails) and counted.
package registry

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Registry is where terms come from.
type Registry interface {
	// Campaign waits until this process leads, begins a term with a fenced
	// write (rule T1) and returns it. who is shown to others as the leader's address.
	// An error that is ErrUnusable will not heal with time; any other may be tried again. A registry that
	// could be used once may come back, and so is waited for.
	Campaign(ctx context.Context, who string) (Term, error)
	// Leader is who leads as far as this process knows; it asks nobody and never
	// blocks. False: nobody is known to lead. May be called concurrently.
	Leader() (Leader, bool)
	Close() error
}

// Shared keeps a few values beside all terms. Every process that has the registry open may read and change them,
// whoever leads: by version, so that nobody overwrites what he has not read. It is for what people manage with or
// without a leader, such as users. All methods may be called concurrently.
type Shared interface {
	// ReadShared returns a value by its name ([a-z][a-z-]{0,30}), or ErrNotFound. Entry.Path is the name.
	ReadShared(ctx context.Context, name string) (Entry, error)
	// WriteShared stores a value if the condition holds, which must be Absent or AtVersion, and returns its version
	// then. Errors: *Conflict when it does not hold; ErrTooLarge; one that is ErrOutcomeUnknown when nobody knows
	// whether it was stored: read it again.
	WriteShared(ctx context.Context, name string, value []byte, condition Condition) (version int64, err error)
}

// Leader is who leads: since when, in which term, and the address that others find him at.
type Leader struct {
	Term    int64
	Address string
	Since   time.Time
}

// MaxValue is how many bytes one value may have: what fits a request of ZooKeeper, with room for what frames it.
const MaxValue = 1_000_000

// Term is one leader's time, from its election to its end. Commit must not be called concurrently; the
// other methods may.
type Term interface {
	// Number is unique and grows from term to term.
	Number() int64
	// Done closes when the term is known to have ended; Err then says why.
	Done() <-chan struct{}
	Err() error
	// List returns all entries strictly below the path, sorted by path, with values.
	// The path "/" is the root: all entries. The answer is the caller's to keep and change.
	List(ctx context.Context, path string) ([]Entry, error)
	// Get returns one entry, or ErrNotFound. A path is not there just because others are below it.
	Get(ctx context.Context, path string) (Entry, error)
	// Commit makes all writes or none, however many and large they are (rule T5): whatever it is cut off by, the next
	// term reads all of it or nothing. When the outcome of a try is unknown it finds out before it returns (rule T3).
	// Errors: *Conflict when a condition does not hold (the term goes on); ErrTooLarge, before anything is written,
	// when one value is too large; ErrTermEnded, when the fence refused or the session is gone; an error that is also
	// ErrOutcomeUnknown when the term ended without an answer. After any other error, such as a missing permission,
	// nothing was written and the term goes on. An empty commit is a fenced write too. Writes happen in their order,
	// so a later one sees the earlier ones of the same path. What is below an entry is deleted before the entry, at
	// the latest in the same commit. Reads of this term that begin after it returned see all of it; people, who read
	// beside terms, may see a large one half applied for a moment. An edit by hand in that moment counts as made after
	// the commit.
	Commit(ctx context.Context, writes []Write) error
	// Changed reports the paths of entries that somebody else may have made,
	// changed or deleted since the term began: people may edit what is under /config
	// and /state/disable. A change of who may read an entry there may be reported
	// later. Commits of the term itself may be reported too. A registry that nobody
	// else can write to returns nil.
	Changed() <-chan string
	// Resign ends the term so that the next leader can begin at once.
	Resign(ctx context.Context) error
}

// Entry is one stored value. Version is 0 when created and grows by one per write.
type Entry struct {
	Path    string
	Value   []byte
	Version int64
	// Unreadable, if not empty, says why the value can't be read and what to do: somebody has
	// taken the permission. Value is nil then, and what may be below the entry is not listed. A
	// registry that nobody else can write to has none.
	Unreadable string
}

// Write is one change of a commit. Paths follow CheckPath.
type Write struct {
	Path string
	// Value is stored unless Delete is set. A nil Value is stored as empty.
	Value  []byte
	Delete bool
	// If is the condition; the zero Condition is none: put creates or sets,
	// and a delete of what is not there does nothing.
	If Condition
}

// Condition is what must hold of a path for the commit to happen.
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

// Absent demands that the path is not there.
func Absent() Condition { return Condition{kind: absent} }

// AtVersion demands that the path is there with this version.
func AtVersion(v int64) Condition { return Condition{kind: atVersion, version: v} }

// Met reports whether the condition holds of an entry that is there with a
// version, or is not there. For implementations.
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

// Any reports whether there is no condition.
func (c Condition) Any() bool { return c.kind == anything }

// WantsAbsent reports whether the path must not be there.
func (c Condition) WantsAbsent() bool { return c.kind == absent }

// Version is the version demanded, and whether one is.
func (c Condition) Version() (int64, bool) { return c.version, c.kind == atVersion }

// Errors of a registry.
var (
	ErrNotFound       = errors.New("not in the registry")
	ErrTooLarge       = errors.New("too large for the registry")
	ErrTermEnded      = errors.New("the term has ended")
	ErrOutcomeUnknown = errors.New("may have been done")
	// ErrUnusable says that no try will help: a wrong address, no permission, a damaged store.
	ErrUnusable = errors.New("the registry can't be used")
)

// Conflict is a commit's error when a write's condition does not hold.
// Nothing was written.
type Conflict struct{ Path string }

func (c *Conflict) Error() string { return fmt.Sprintf("%s has changed or exists already", c.Path) }
