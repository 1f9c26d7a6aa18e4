package outbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/elasticjob-go/elasticjob/internal/wholefile"
)

// FS is the folder of one log. Tests replace it by a folder that fails and crashes.
type FS interface {
	// Lock excludes all other processes until the returned closer is closed.
	Lock() (io.Closer, error)
	Names() ([]string, error)
	// Open opens a file for reading and writing. flag contains additional flags of os.OpenFile.
	Open(name string, flag int) (File, error)
	Rename(from, to string) error
	Remove(name string) error
	// Sync makes the names of the files durable.
	Sync() error
}

// File is a file of the folder.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Size() (int64, error)
	Truncate(size int64) error
	// Sync makes the written data durable.
	Sync() error
}

// Folder returns a folder of the operating system as an FS.
func Folder(dir string) FS { return folder(dir) }

// folder is an FS of the operating system.
type folder string

// lockWait is how long Lock waits for a process that is just ending.
const lockWait = 2 * time.Second

func (d folder) Lock() (io.Closer, error) {
	f, err := os.OpenFile(filepath.Join(string(d), "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Since(begin) > lockWait {
			break
		}
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = errors.New("another process uses it; give each server its own --data-dir")
	}
	return nil, errors.Join(err, f.Close())
}

func (d folder) Names() ([]string, error) {
	entries, err := os.ReadDir(string(d))
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

func (d folder) Open(name string, flag int) (File, error) {
	f, err := os.OpenFile(filepath.Join(string(d), name), os.O_RDWR|flag, 0o600)
	if err != nil {
		return nil, err
	}
	return file{f}, nil
}

func (d folder) Rename(from, to string) error {
	return os.Rename(filepath.Join(string(d), from), filepath.Join(string(d), to))
}

func (d folder) Remove(name string) error { return os.Remove(filepath.Join(string(d), name)) }

func (d folder) Sync() error { return wholefile.SyncFolder(string(d)) }

type file struct{ *os.File }

func (f file) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f file) Sync() error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("fdatasync %s: %w", f.Name(), err)
		}
	}
}

// make creates the folder if it does not exist.
func (d folder) make() error { return os.MkdirAll(string(d), 0o700) }
