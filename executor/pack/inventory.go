package pack

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
	"time"
)

// A task, an operator or a program that removes old files can change or remove the files of kept packages. Permissions
// do not prevent that, because tasks may run as the executor's user, often root. So each package has an inventory,
// which is compared before each use. A package that has changed since it was unpacked is fetched again and replaced.

// inventory is the recorded state of a kept package after it was unpacked.
type inventory struct {
	// Entries is the number of entries, including folders.
	Entries int `json:"entries"`
	// Digest covers the path, kind, permissions and inode of every entry, and the size and times of every entry that
	// is not a folder. The times of a folder are left out: they change when the folder is renamed, and a change of its
	// entries shows in the entries.
	Digest string `json:"digest"`

	newest  string       // the path of the entry with the latest change
	changed time.Time    // the time of that change
	states  []entryState // the states of all entries; nil if there are many
}

// entryState is the observed state of an entry. As long as a folder's own times do not change, no entry was added to
// it.
type entryState struct {
	path              string
	inode             uint64
	mode              uint32
	size              int64
	modified, changed syscall.Timespec
}

func entryStateOf(path string, stat *syscall.Stat_t) entryState {
	return entryState{path: path, inode: stat.Ino, mode: stat.Mode, size: stat.Size, modified: stat.Mtim,
		changed: stat.Ctim}
}

// unchanged reports whether all entries are unchanged. It returns false for an empty list. It does not read folders,
// so it takes a fraction of the time of an inventory.
func unchanged(states []entryState) bool {
	var stat syscall.Stat_t
	for _, s := range states {
		if syscall.Lstat(s.path, &stat) != nil || entryStateOf(s.path, &stat) != s {
			return false
		}
	}
	return len(states) > 0
}

var errIrregular = errors.New("not a file, folder or link")

// takeInventory takes the inventory of a package, whose path is dir. It does not read the content of files.
func takeInventory(ctx context.Context, root *os.Root, dir string) (inventory, error) {
	var i inventory
	digest := sha256.New()
	var line []byte
	err := walk(root, func(path string, info fs.FileInfo) error {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return errIrregular
		}
		i.Entries++
		if changed := time.Unix(stat.Ctim.Unix()); !changed.Before(i.changed) {
			i.newest, i.changed = path, changed
		}
		line = append(append(line[:0], path...), 0)
		line = binary.LittleEndian.AppendUint64(line, stat.Ino)
		line = binary.LittleEndian.AppendUint32(line, uint32(info.Mode()))
		if !info.IsDir() {
			// The change time comes from the file system: unlike the modification time, no program can set it.
			for _, number := range []int64{stat.Size, stat.Mtim.Nano(), stat.Ctim.Nano()} {
				line = binary.LittleEndian.AppendUint64(line, uint64(number))
			}
		}
		_, _ = digest.Write(line) // a hash returns no error
		if i.Entries <= alwaysChecked {
			i.states = append(i.states, entryStateOf(dir+path, stat))
		} else {
			i.states = nil
		}
		return nil
	})
	i.Digest = hex.EncodeToString(digest.Sum(nil))
	return i, err
}

const (
	// alwaysChecked is the number of entries up to which a package is checked before each use. A larger package takes
	// longer than a third of a millisecond, so it is checked less often: its checks take at most 1/checkShare of one
	// processor.
	alwaysChecked = 250
	checkShare    = 20
)

// intact reports whether a package that was handed out is unchanged. If it is not, intact returns a description of the
// change.
func (s *Store) intact(e *entry) (ok bool, change string) {
	if e.State == "" {
		return true, "" // only one task uses the package
	}
	begun := time.Now()
	s.mu.Lock()
	trusted, states := begun.Before(e.trustedUntil), e.states
	s.mu.Unlock()
	if trusted || unchanged(states) {
		return true, ""
	}
	found, err := s.inventoryOf(e)
	if err != nil || found.Digest != e.State {
		return false, describeChange(found, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e.states = found.states
	if found.Entries > alwaysChecked {
		e.trustedUntil = time.Now().Add(checkShare * time.Since(begun))
	}
	return true, ""
}

// inventoryOf takes the inventory of a package that was handed out.
func (s *Store) inventoryOf(e *entry) (inventory, error) {
	ancestor := s.dir
	if e.name == "" {
		ancestor = filepath.Dir(s.private)
	}
	root, err := openIn(ancestor, e.Dir)
	if err != nil {
		return inventory{}, err
	}
	defer func() { _ = root.Close() }()
	return takeInventory(context.Background(), root, e.Dir)
}

// describeChange describes the change of a package. found is its present inventory, unless err says why it could not be
// taken.
func describeChange(found inventory, err error) string {
	const text = "the package in the cache was changed after it was unpacked"
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errIrregular):
		return text + ": it is gone"
	case err != nil:
		return text + ": " + err.Error()
	case found.newest == "":
		return text + ", at " + found.changed.UTC().Format(time.RFC3339)
	}
	return text + ": the last change is of " + found.newest[1:] + ", at " + found.changed.UTC().Format(time.RFC3339)
}

// inventoryName returns the path of a package's inventory below the cache.
func inventoryName(name string) string { return path.Join("whole", name) }

// verify reports whether a kept package matches its recorded inventory, and returns the digest. A package of an earlier
// release, which let jobs write into it, has no inventory.
func (s *Store) verify(ctx context.Context, cache *os.Root, name string) (state string, ok bool) {
	var want inventory
	if !readRecord(cache, inventoryName(name), &want) || want.Digest == "" {
		s.log.Info("cached package without inventory discarded: it will be fetched again", "content", name)
		return "", false
	}
	var found inventory
	root, err := openPackage(cache, contentName(name))
	if err == nil {
		found, err = takeInventory(ctx, root, s.content(name))
		_ = root.Close()
	}
	if err == nil && found.Digest == want.Digest {
		return found.Digest, true
	}
	if ctx.Err() == nil {
		s.recordChange(name, describeChange(found, err))
	}
	return "", false
}

// recordChange records a change, for the note in the package that is fetched again.
func (s *Store) recordChange(name, text string) {
	s.mu.Lock()
	_, reported := s.changes[name]
	s.changes[name] = text
	s.mu.Unlock()
	if !reported {
		s.log.Warn("changed package discarded from the cache: it will be fetched again", "content", name, "change",
			text)
	}
}
