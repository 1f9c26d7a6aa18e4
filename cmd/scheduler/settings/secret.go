package settings

import (
	"fmt"
	"os"
	"strings"
	"unicode"

	"github.com/elasticjob-go/elasticjob/internal/textfile"
)

// Secret is a text that is never printed.
type Secret string

// String hides the text.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "(hidden)"
}

// GoString also hides the text.
func (s Secret) GoString() string { return s.String() }

// maxSecret is the maximum size of a file with a secret, in bytes.
const maxSecret = 64 << 10

// readPrivate reads a file that only its owner may read. Its errors contain no part of the file.
func readPrivate(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("others can read %s (mode %s): chmod 600 it", path, info.Mode().Perm())
	case info.Size() > maxSecret:
		return nil, fmt.Errorf("%s has %d bytes, too many for a secret", path, info.Size())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if decoded, ok, err := textfile.Marked(text); ok && err == nil {
		text = decoded
	}
	return text, nil
}

// readSecret reads a file that contains one word and that only its owner may read. Its errors contain no part of the
// file.
func readSecret(path string) (Secret, error) {
	text, err := readPrivate(path)
	if err != nil {
		return "", err
	}
	word := strings.TrimSpace(string(text))
	if word == "" {
		return "", fmt.Errorf("%s is empty", path)
	}
	if strings.ContainsFunc(word, func(r rune) bool { return r > unicode.MaxASCII || r <= ' ' || r == 0x7f }) {
		return "", fmt.Errorf("%s must hold one word of visible ASCII characters, and holds more", path)
	}
	return Secret(word), nil
}
