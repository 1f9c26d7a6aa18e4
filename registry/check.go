package registry

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrBadPath is the error for a path that breaks the rules of CheckPath.
var ErrBadPath = errors.New("not a registry path")

// maxPath is the maximum length of a path, in bytes. It is far below the maximum length of a key in any
// implementation.
const maxPath = 1024

// CheckPath returns ErrBadPath if a path is not valid. A valid path begins with a slash, does not end with a slash,
// has no part that is empty, "." or "..", is valid UTF-8 without control characters, and has at most 1,024 bytes.
// Every implementation calls CheckPath before it does anything else.
func CheckPath(path string) error {
	bad := func(problem string) error { return fmt.Errorf("%w: %q %s", ErrBadPath, path, problem) }
	switch {
	case !strings.HasPrefix(path, "/"):
		return bad("does not begin with a slash")
	case len(path) > maxPath:
		return fmt.Errorf("%w: %q… is %d bytes long; at most %d are allowed", ErrBadPath, path[:40], len(path),
			maxPath)
	case !utf8.ValidString(path):
		return bad("is not valid UTF-8")
	case strings.ContainsFunc(path, unicode.IsControl):
		return bad("has a control character")
	}
	for part := range strings.SplitSeq(path[1:], "/") {
		switch part {
		case "":
			return bad("has an empty part")
		case ".", "..":
			return bad("has a part that is . or ..")
		}
	}
	return nil
}

// CheckListPath is CheckPath for List: the root "/" is also valid.
func CheckListPath(path string) error {
	if path == "/" {
		return nil
	}
	return CheckPath(path)
}

// CheckShared checks the arguments of WriteShared or, if write is false, of ReadShared, without reading the registry.
// The error is ErrBadPath or ErrTooLarge, or that the condition is missing. Every implementation of Shared calls it
// first.
func CheckShared(name string, write bool, value []byte, condition Condition) error {
	validName := len(name) > 0 && len(name) <= maxShared && name[0] != '-' &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-") == ""
	switch {
	case !validName:
		return fmt.Errorf("%w: %q is not a name of a shared value", ErrBadPath, name)
	case write && condition.IsZero():
		return fmt.Errorf("write the shared value %s: it needs a condition", name)
	case write && len(value) > MaxValue:
		return fmt.Errorf("%w: the shared value %s has %d bytes; at most %d are allowed", ErrTooLarge, name, len(value),
			MaxValue)
	}
	return nil
}

// maxShared is the maximum length of the name of a shared value, in bytes.
const maxShared = 31

// CheckWrites checks the writes of a commit without reading the registry. The error is ErrBadPath or ErrTooLarge.
// Every implementation calls it before it writes anything.
func CheckWrites(writes []Write) error {
	for _, w := range writes {
		if err := CheckPath(w.Path); err != nil {
			return err
		}
		if !w.Delete && len(w.Value) > MaxValue {
			return fmt.Errorf("%w: the value of %s has %d bytes; at most %d are allowed", ErrTooLarge, w.Path,
				len(w.Value), MaxValue)
		}
	}
	return nil
}
