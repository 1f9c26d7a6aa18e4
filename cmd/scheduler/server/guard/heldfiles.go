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

// heldFile is a secret file that a flag names. It is held open, so that a file that replaces it later cannot be
// mistaken for it.
type heldFile struct {
	named string
	// real is the path without links when the server started; empty if the file did not exist.
	real string
	is   isolation.Identity
	file *os.File
}

// Files are the secret files that the flags name.
type Files []heldFile

// Hold opens the files without reading them. A file that does not exist is no error.
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
			return held, fmt.Errorf("open %s, which is hidden from jobs: %w", path, err)
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

// Close closes the files.
func (h Files) Close() {
	for _, f := range h {
		_ = f.file.Close() // nothing was written, and Close of a nil file only returns an error
	}
}

// HiddenWith adds the files to the places that are hidden. A file must still be the one of the start, except if all
// its names are gone because another file was renamed over it. Then no job can reach the old file, and the new one is
// hidden instead. The file that a link leads to now is hidden too, such as the key of a renewed certificate.
func (h Files) HiddenWith(p isolation.Places) isolation.Places {
	p.Files, p.FileIDs = slices.Clone(p.Files), map[string]isolation.Identity{}
	for _, f := range h {
		if p.Files = append(p.Files, f.named); f.real == "" {
			continue
		}
		if f.real != f.named {
			p.Files = append(p.Files, f.real)
		}
		var stat unix.Stat_t
		if err := unix.Fstat(int(f.file.Fd()), &stat); err != nil || stat.Nlink > 0 {
			p.FileIDs[f.real] = f.is
		}
	}
	return p
}
