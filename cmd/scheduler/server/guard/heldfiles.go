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

// heldFile is a secret file that a flag names. It stays open, so that a file which replaces it later has another
// identity.
type heldFile struct {
	named string // the path in the flag
	// real is the path without links when the server started. It is empty if the file did not exist.
	real     string
	identity isolation.Identity
	file     *os.File
}

// Files are the secret files that flags name.
type Files []heldFile

// Hold opens the files without reading them. A file need not exist.
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
		identity, err := isolation.IdentityOf(file)
		held = append(held, heldFile{path, real, identity, file})
		if err != nil {
			return held, err
		}
	}
	return held, nil
}

// Close closes the files.
func (h Files) Close() {
	for _, f := range h {
		_ = f.file.Close() // file may be nil; Close then only returns an error
	}
}

// HiddenWith returns the places with the files added, so that they are hidden too. For each file it also returns the
// identity that the file had at the start. If another file is at the path, the secret may have been moved, and no
// executor starts. A file whose last name was removed, for example because another file was renamed over it, is an
// exception: no job can reach it, so the path is hidden without a check. If the path in the flag is a link, its present
// target is hidden too, for example the key of a renewed certificate.
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
			p.FileIDs[f.real] = f.identity
		}
	}
	return p
}
