package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
)

// heldFile is a file with secrets that a flag names. It is held open, so that no other one can be taken for it.
type heldFile struct {
	named string
	// real is its name without links when the server started, empty if there was none.
	real string
	is   isolation.Identity
	file *os.File
}

// Files are all of them.
type Files []heldFile

// Hold opens files without reading them.
func Hold(named []string) (held Files, err error) {
	defer func() {
		if err != nil {
			held.Close()
		}
	}()
	for _, path := range named {
		real, err := filepath.EvalSymlinks(path)
		if errors.Is(err, fs.ErrNotExist) {
			held = append(held, heldFile{named: path})
			continue
		}
		var fd int
		if err == nil {
			fd, err = unix.Open(real, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		}
		if err != nil {
			return held, fmt.Errorf("hold %s, which is to be hidden from jobs: %w", path, err)
		}
		file := os.NewFile(uintptr(fd), real)
		is, err := isolation.IdentityOf(file)
		held = append(held, heldFile{path, real, is, file})
		if err != nil {
			return held, err
		}
	}
	return held, nil
}

// Close lets go of them.
func (h Files) Close() {
	for _, f := range h {
		_ = f.file.Close() // nothing was written; without a file it is an error that says so
	}
}

// HiddenWith adds the files to what is hidden. A file must be where it was at the start. One that has no name any
// more, since another one was renamed to it, can be seen by nobody: then it is the new one that is hidden, and so is
// what a link leads to now, such as the key of a certificate that was renewed.
func (h Files) HiddenWith(p isolation.Places) isolation.Places {
	p.Files, p.FilesAre = slices.Clone(p.Files), map[string]isolation.Identity{}
	for _, f := range h {
		if p.Files = append(p.Files, f.named); f.real == "" {
			continue
		}
		if f.real != f.named {
			p.Files = append(p.Files, f.real)
		}
		var stat unix.Stat_t
		if err := unix.Fstat(int(f.file.Fd()), &stat); err != nil || stat.Nlink > 0 {
			p.FilesAre[f.real] = f.is
		}
	}
	return p
}
