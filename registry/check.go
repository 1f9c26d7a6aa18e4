package registry

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrBadPath says that a path breaks the rules of CheckPath.
var ErrBadPath = errors.New("not a registry path")

// maxPath keeps a path far below what any implementation's key may be.
const maxPath = 1024

// CheckPath says what is wrong with the path of an entry: it begins with a
// slash, does not end in one, has no empty part and none that is "." or "..",
// is valid UTF-8 without control characters, and at most 1,024 bytes long. The
// error is ErrBadPath. Every implementation refuses such paths before it does anything.
func CheckPath(path string) error {
	bad := func(why string) error { return fmt.Errorf("%w: %q %s", ErrBadPath, path, why) }
	switch {
	case !strings.HasPrefix(path, "/"):
		return bad("does not begin with a slash")
	case len(path) > maxPath:
		return fmt.Errorf("%w: %q… is %d bytes long, the most is %d", ErrBadPath, path[:40], len(path), maxPath)
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
			return bad("has a part that is a dot or two")
		}
	}
	return nil
}

// CheckListPath is CheckPath for List, which takes "/" too: the root, below which all entries are.
func CheckListPath(path string) error {
	if path == "/" {
		return nil
	}
	return CheckPath(path)
}

// CheckShared says why a shared value can't be stored, or not be read where write is false, whatever the registry
// holds. Every implementation of Shared asks it first.
func CheckShared(name string, write bool, value []byte, condition Condition) error {
	word := len(name) > 0 && len(name) <= maxShared && name[0] != '-' &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-") == ""
	switch {
	case !word:
		return fmt.Errorf("%w: %q is no name of a shared value", ErrBadPath, name)
	case write && condition.Any():
		return fmt.Errorf("write the shared value %s: it needs a condition", name)
	case write && len(value) > MaxValue:
		return fmt.Errorf("%w: the shared value %s has %d bytes, the most is %d", ErrTooLarge, name, len(value),
			MaxValue)
	}
	return nil
}

// maxShared is the longest name of a shared value.
const maxShared = 31

// CheckWrites says why a commit can't be made whatever the registry holds:
// ErrBadPath or ErrTooLarge. Every implementation asks it before it writes anything.
func CheckWrites(writes []Write) error {
	for _, w := range writes {
		if err := CheckPath(w.Path); err != nil {
			return err
		}
		if !w.Delete && len(w.Value) > MaxValue {
			return fmt.Errorf("%w: the value of %s has %d bytes, the most is %d", ErrTooLarge, w.Path, len(w.Value),
				MaxValue)
		}
	}
	return nil
}
