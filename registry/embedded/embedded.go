// Package embedded is the registry in one file, for one machine and for tests.
//
// The file is a bbolt B+tree. A commit is one bbolt transaction: it checks the fence and the conditions, writes the
// entries and the leader's record, and returns after two fdatasyncs, first of the pages and then of the page that
// makes them valid. After a crash at any moment the file is as of the last commit.
//
//	bucket "entries": path                → version (8 bytes, big-endian), value
//	bucket "leader":  "term", "commit"    → number (8 bytes, big-endian)
//	                  "who"               → the leader's address
//	bucket "shared":  name                → as entries: values outside all terms
//
// Paths are stored flat. They sort as bytes, so all entries below /a are the one range that begins with "/a/".
//
// One process at a time holds bbolt's flock on the file. The file FILE.holder beside it names that process, for the
// error message of a second one.
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

// lockWait is how long Open waits for the lock of a process that is just ending.
const lockWait = time.Second

// mapSize is address space, not memory. A map of this size need not move, so that readers and commits do not block
// each other, and the file grows in steps of 16 MiB.
const mapSize = 1 << 30

var (
	entriesBucket = []byte("entries")
	leaderBucket  = []byte("leader")
	sharedBucket  = []byte("shared")
	termKey       = []byte("term")
	commitKey     = []byte("commit")
	whoKey        = []byte("who")
)

// Registry is a registry.Registry in a file. All methods may be called
// concurrently.
type Registry struct {
	path  string
	db    *bolt.DB
	files []*os.File // opened by bbolt; the last one is the registry's file
	log   *slog.Logger

	reserved      int64 // bytes at the beginning of the file whose disk blocks are allocated
	reserveWarned bool  // the log has reported that no space can be reserved

	mu      sync.Mutex
	current *term
	leader  registry.Leader // the leader of the current term
	closed  bool
	// broken is the reason of a failed write. After a failed fsync the content of the disk and the page cache may
	// differ, so nothing is read or written any more.
	broken error
	// faulted: bbolt panicked on an unreadable page, so it may still hold its locks.
	faulted bool
	opened  os.FileInfo // identifies the open file
	size    int64       // of the file at the last check

	closing    chan struct{} // closed by Close
	goroutines sync.WaitGroup
}

var _ registry.Registry = (*Registry)(nil)

// Open opens the registry in the file, and creates the file and its folder if they do not exist. If another process
// still holds the file after a second, the error is *InUse.
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

// openFile opens the file, creates its buckets, makes its name durable and announces this process as the holder.
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
		err = wholefile.SyncFolder(folder) // makes the name of a new file durable
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

// openBolt opens a file that may be damaged.
func (r *Registry) openBolt() error {
	options := bolt.Options{
		Timeout: lockWait,
		// The free pages follow from the used ones, so the list need not be written with every commit; doing so took
		// 0.3 of a commit's 0.7 ms after the deletion of 99,000 of 100,000 entries. Open rebuilds the list by a walk
		// over the tree (30 ms at 100,000 entries). A crash makes no difference, since the list is in memory only.
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

// closeFiles unlocks and closes the file when bbolt can't. Otherwise the lock would last as long as the pages are
// mapped, which is until the end of this process.
func (r *Registry) closeFiles() {
	for _, f := range r.files {
		_ = unix.Flock(int(f.Fd()), unix.LOCK_UN)
		_ = f.Close()
	}
}

// checkWhole detects a truncated file or damaged pages before they are used.
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

func damaged(how string) error {
	return fmt.Errorf("%w: the file is damaged (%s): bring back a copy of it, or move it away with the files beside it to start with an empty registry", registry.ErrUnusable, how)
}

// Leader returns the leader of the current term while it lasts.
func (r *Registry) Leader() (registry.Leader, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leader, r.current != nil && r.current.Err() == nil
}

// Campaign begins the next term at once, by a fenced write (rule T1), and ends the previous one: the process that
// holds the file leads.
func (r *Registry) Campaign(ctx context.Context, who string) (registry.Term, error) {
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
			leader.Put(whoKey, []byte(who)))
	})
	if err != nil {
		err = r.failWith(err, faulted)
		return nil, fmt.Errorf("begin a term in %s: %w", r.path, err)
	}
	if r.current != nil {
		r.current.end(fmt.Errorf("%w: term %d began after term %d", registry.ErrTermEnded, number, r.current.number))
	}
	r.current = &term{registry: r, number: number, done: make(chan struct{})}
	r.leader = registry.Leader{Term: number, Address: who, Since: time.Now()}
	r.log.Info("term began", "term", number, "who", who)
	return r.current, nil
}

// usable returns why the registry can't be used, nil if it can. The caller holds r.mu.
func (r *Registry) usable() error {
	switch {
	case r.closed:
		return errors.New("the registry is closed")
	case r.broken != nil:
		return r.broken
	}
	return r.checkFile()
}

// failWith ends all use of the registry after a failed write or an unreadable page. It returns the reason: the loss
// of the file if that is the cause, otherwise bbolt's error. The caller holds r.mu.
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
	// Remove the holder file while this process still holds the lock; later it might be the next holder's. If the file
	// is lost, the holder file stays and tells the next start that there was a registry.
	var err error
	if !errors.Is(r.broken, ErrFileLost) {
		err = removeHolder(r.path)
	}
	if r.faulted {
		r.closeFiles() // bbolt would block on its own locks
	} else {
		err = errors.Join(err, r.db.Close())
	}
	if err != nil {
		return fmt.Errorf("close the registry %s: %w", r.path, err)
	}
	return nil
}

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
