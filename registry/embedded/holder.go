package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// InUse is the error of Open when another process holds the file.
type InUse struct {
	Path string
	// PID is the process id in the holder file, or 0 if it can't be read.
	PID int
}

func (e *InUse) Error() string {
	holder := "another process"
	if e.PID > 0 {
		holder = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("the registry %s is in use by %s: stop that first, or use another data folder", e.Path, holder)
}

// holderPath returns the path of the holder file, which contains the process id of the holder. A killed process does
// not remove it, so its content is valid only while the registry's file is locked.
func holderPath(path string) string { return path + ".holder" }

func writeHolder(path string) error {
	return os.WriteFile(holderPath(path), fmt.Appendln(nil, os.Getpid()), 0o600)
}

func removeHolder(path string) error {
	if err := os.Remove(holderPath(path)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// newInUse returns the error for a file that another process holds.
func newInUse(path string) *InUse {
	e := &InUse{Path: path}
	if b, err := os.ReadFile(holderPath(path)); err == nil {
		e.PID, _ = strconv.Atoi(strings.TrimSpace(string(b)))
	}
	return e
}
