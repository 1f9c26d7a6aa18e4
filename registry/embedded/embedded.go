// Package embedded is the registry in one file, for one machine and for tests.
//
// The file is a bbolt B+tree. A commit is one bbolt transaction, which checks the fence and the conditions, and writes
// the entries and the leader's record. It returns after two fdatasyncs: the first for the changed pages, the second
// for the page that makes them valid. After a crash at any time, the file has the state of the last commit.
//
//	bucket "entries": path                → version (8 bytes, big-endian), value
//	bucket "leader":  "term", "commit"    → number (8 bytes, big-endian)
//	                  "who"               → the leader's address
//	bucket "shared":  name                → as entries: values outside all terms
//
// The keys are whole paths, sorted as bytes. So all entries below /a are in one range of keys, those that begin with
// "/a/".
//
// One process at a time holds bbolt's flock on the file. The file FILE.holder beside it has the id of that process,
// for the error message of a second process.
package embedded

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
	"golang.org/x/sys/unix"

	"github.com/elasticjob-go/elasticjob/internal/wholefile"
	"github.com/elasticjob-go/elasticjob/registry"
)

// lockWait is how long Open waits for the lock, which a process that is just ending may still hold.
const lockWait = time.Second

// mapSize is the initial size of the memory map: address space, not memory. While the file is smaller, the map need
// not move, so that readers and commits do not block each other, and the file grows in steps of 16 MiB.
const mapSize = 1 << 30

var (
	entriesBucket = []byte("entries")
	leaderBucket  = []byte("leader")
	sharedBucket  = []byte("shared")
	termKey       = []byte("term")
	commitKey     = []byte("commit")
	whoKey        = []byte("who")
)

// Registry is a registry.Registry in a file. All methods may be called concurrently.
type Registry struct {
	path  string
	db    *bolt.DB
	files []*os.File // the files that bbolt has opened; the last one is the registry's file
	log   *slog.Logger

	reserved      int64 // the number of bytes at the beginning of the file whose disk blocks are allocated
	reserveWarned bool  // the log has reported that no space can be reserved

	mu      sync.Mutex
	current *term
	leader  registry.Leader // the leader of the current term
	closed  bool
	// broken is why the registry can't be used any more. After a failed fsync, the content of the disk and of the page
	// cache may differ, so nothing is written any more.
	broken error
	// faulted is set after bbolt has panicked on an unreadable page. bbolt may then hold its locks forever.
	faulted bool
	opened  os.FileInfo // identifies the open file
	size    int64       // the size of the file at the last check

	closing    chan struct{} // closed by Close
	goroutines sync.WaitGroup
}

var _ registry.Registry = (*Registry)(nil)

// Open opens the registry in the file, and creates the file and its folder if they do not exist. If another process
// still holds the file after lockWait, the error is *InUse.
func Open(path string, log *slog.Logger) (*Registry, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open the registry %s: %w", path, err)
	}
	began := time.Now()
	r := &Registry{path: path, log: log, closing: make(chan struct{})}
	if err := r.openFile(); err != nil {
		return nil, err
	}
	r.reserveSpace()
	r.goroutines.Go(func() { r.watch(checkInterval) })
	log.Info("registry open", "file", path, "took", time.Since(began))
	return r, nil
}

// openFile opens the file, creates its buckets, syncs its folder and writes the holder file.
func (r *Registry) openFile() (err error) {
	path := r.path
	fail := func(err error) error { return fmt.Errorf("open the registry %s: %w", path, err) }
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fail(err)
	}
	if err := checkNew(path); err != nil {
		return fail(err)
	}
	err = r.openBolt()
	if errors.Is(err, berrors.ErrTimeout) {
		return newInUse(path)
	}
	if err != nil {
		return fail(err)
	}
	faulted, err := r.update(func(tx *bolt.Tx) error {
		for _, name := range [][]byte{entriesBucket, leaderBucket, sharedBucket} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		return nil
	})
	if faulted {
		r.closeFiles()
		return fail(err)
	}
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err == nil {
		err = wholefile.SyncFolder(folder) // so that a crash does not remove the name of a new file
	}
	if err == nil {
		r.opened, err = r.dbFile().Stat()
	}
	if err == nil {
		err = writeHolder(path)
	}
	if err != nil {
		return fail(errors.Join(err, r.db.Close()))
	}
	return nil
}

// openBolt opens the file with bbolt. It returns an error if the file is damaged.
func (r *Registry) openBolt() error {
	options := bolt.Options{
		Timeout: lockWait,
		// The list of free pages is only in memory. Open builds it by a walk over the tree, which takes 30 ms with
		// 100,000 entries. A commit that also writes the list is slower: 0.7 ms instead of 0.4 ms after the deletion
		// of 99,000 of 100,000 entries.
		NoFreelistSync:  true,
		FreelistType:    bolt.FreelistMapType,
		InitialMmapSize: mapSize,
		NoStatistics:    true,
		OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
			f, err := os.OpenFile(name, flag, mode)
			if err == nil {
				r.files = append(r.files, f)
			}
			return f, err
		},
	}
	faulted, err := guarded(func() (err error) {
		if err := checkWhole(r.path, options); err != nil {
			return err
		}
		r.db, err = bolt.Open(r.path, 0o600, &options)
		return err
	})
	if faulted {
		r.closeFiles()
	}
	return err
}

// closeFiles unlocks and closes the files when bbolt can't. Without the unlock, the lock would last until the end of
// this process, because the pages stay mapped.
func (r *Registry) closeFiles() {
	for _, f := range r.files {
		_ = unix.Flock(int(f.Fd()), unix.LOCK_UN)
		_ = f.Close()
	}
}

// checkWhole returns an error if the file is truncated or has damaged pages. A file that does not exist or is empty is
// valid.
func checkWhole(path string, options bolt.Options) error {
	if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil
	}
	options.ReadOnly = true
	db, err := bolt.Open(path, 0o600, &options)
	if errors.Is(err, berrors.ErrTimeout) {
		return err
	}
	if err != nil {
		return damaged(err.Error())
	}
	err = db.View(func(tx *bolt.Tx) error {
		info, err := os.Stat(path)
		if err == nil && info.Size() < tx.Size() {
			err = damaged(fmt.Sprintf("%d of %d bytes", info.Size(), tx.Size()))
		}
		if err == nil {
			err = verify(path)
		}
		return err
	})
	return errors.Join(err, db.Close())
}

func damaged(detail string) error {
	return fmt.Errorf("%w: the file is damaged (%s): bring back a copy of it, or move it away with the files beside it to start with an empty registry",
		registry.ErrUnusable, detail)
}

// Leader returns the leader of the current term. It returns false if the term has ended or none has begun.
func (r *Registry) Leader() (registry.Leader, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leader, r.current != nil && r.current.Err() == nil
}

// Campaign begins the next term at once by a fenced write (rule T1), because the process that holds the file leads. It
// ends the previous term.
func (r *Registry) Campaign(ctx context.Context, address string) (registry.Term, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := ctx.Err()
	if err == nil {
		err = r.usable()
	}
	if err != nil {
		return nil, fmt.Errorf("begin a term in %s: %w", r.path, err)
	}
	var number int64
	faulted, err := r.update(func(tx *bolt.Tx) error {
		leader := tx.Bucket(leaderBucket)
		number = numberAt(leader, termKey) + 1
		return errors.Join(putNumber(leader, termKey, number), putNumber(leader, commitKey, 0),
			leader.Put(whoKey, []byte(address)))
	})
	if err != nil {
		err = r.failWith(err, faulted)
		return nil, fmt.Errorf("begin a term in %s: %w", r.path, err)
	}
	if r.current != nil {
		r.current.end(fmt.Errorf("%w: term %d began after term %d", registry.ErrTermEnded, number, r.current.number))
	}
	r.current = &term{registry: r, number: number, done: make(chan struct{})}
	r.leader = registry.Leader{Term: number, Address: address, Since: time.Now()}
	r.log.Info("term began", "term", number, "who", address)
	return r.current, nil
}

// usable returns why the registry can't be used, or nil. The caller holds r.mu.
func (r *Registry) usable() error {
	switch {
	case r.closed:
		return errors.New("the registry is closed")
	case r.broken != nil:
		return r.broken
	}
	return r.checkFile()
}

// failWith ends all use of the registry after a failed write, or after an unreadable page (faulted). It returns the
// reason: that the file is lost, if this is the case, otherwise cause. The caller holds r.mu.
func (r *Registry) failWith(cause error, faulted bool) error {
	r.faulted = r.faulted || faulted
	switch {
	case r.broken != nil, r.checkFile() != nil:
		return r.broken
	case faulted:
		r.fail(cause)
	default:
		r.fail(fmt.Errorf("an earlier write failed, so the state on disk is unknown until the file is opened again: %w",
			cause))
	}
	return cause
}

// Close ends the term, waits for running reads and commits, and closes the file.
func (r *Registry) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	close(r.closing)
	r.mu.Unlock()
	r.goroutines.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current != nil {
		r.current.end(fmt.Errorf("%w: the registry was closed", registry.ErrTermEnded))
	}
	// The holder file is removed while this process holds the lock, because after that it may be the file of the next
	// holder. If the registry's file is lost, the holder file stays: it tells the next start that there was a
	// registry.
	var err error
	if !errors.Is(r.broken, ErrFileLost) {
		err = removeHolder(r.path)
	}
	if r.faulted {
		r.closeFiles() // bbolt would wait for its own locks forever
	} else {
		err = errors.Join(err, r.db.Close())
	}
	if err != nil {
		return fmt.Errorf("close the registry %s: %w", r.path, err)
	}
	return nil
}

// numberAt returns the number stored under a key, or 0 if there is none.
func numberAt(b *bolt.Bucket, key []byte) int64 {
	v := b.Get(key)
	if len(v) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(v))
}

func putNumber(b *bolt.Bucket, key []byte, n int64) error {
	return b.Put(key, binary.BigEndian.AppendUint64(nil, uint64(n)))
}
