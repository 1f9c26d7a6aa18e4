package mesos

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
)

// maxCredentials is the maximum size of a credentials file in bytes. A larger file is not a credentials file.
const maxCredentials = 64 << 10

// Credentials are the principal and secret for HTTP basic authentication. Their String, GoString and LogValue methods
// hide the secret.
type Credentials struct {
	User, Secret string

	warning string // see Warning
}

// ReadCredentials reads a file in either form that Mesos' own --credential accepts: principal and secret on one line,
// or {"principal":"…","secret":"…"}. Its errors do not show the file's content. A file that other users can read is
// accepted with a Warning, as Mesos does.
func ReadCredentials(path string) (*Credentials, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("credentials for Mesos: %w", err)
	}
	if info.IsDir() || info.Size() > maxCredentials {
		return nil, fmt.Errorf("credentials for Mesos: %s is not a file with one principal and secret", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("credentials for Mesos: %w", err)
	}
	c, err := parseCredentials(text)
	if err != nil {
		return nil, fmt.Errorf("credentials for Mesos: %s: %w", path, err)
	}
	if others := info.Mode().Perm() & 0o077; others != 0 {
		c.warning = fmt.Sprintf("others can read the secret in %s (mode %s): chmod 600 it", path, info.Mode().Perm())
	}
	return c, nil
}

// parseCredentials parses the content of a credentials file. Its errors do not show the content.
func parseCredentials(text []byte) (*Credentials, error) {
	var c Credentials
	text = bytes.TrimPrefix(bytes.TrimSpace(text), []byte("\xef\xbb\xbf")) // a byte order mark
	if bytes.HasPrefix(text, []byte("{")) {
		var doc struct {
			Principal, Secret string
			Credentials       json.RawMessage
		}
		if err := json.Unmarshal(text, &doc); err != nil {
			// The error of package json quotes the text, which may contain the secret.
			return nil, errors.New(`begins like JSON, but is not of the form {"principal":"…","secret":"…"}`)
		}
		if doc.Credentials != nil {
			return nil, errors.New(`is the master's list ("credentials"): give a file with only the scheduler's principal and secret`)
		}
		c.User, c.Secret = doc.Principal, doc.Secret
	} else {
		fields := strings.Fields(string(text))
		if len(fields) != 2 || bytes.ContainsAny(text, "\r\n") {
			return nil, errors.New("must contain only a principal and a secret, on one line")
		}
		c.User, c.Secret = fields[0], fields[1]
	}
	switch {
	case c.User == "":
		return nil, errors.New("has no principal")
	case c.Secret == "":
		return nil, errors.New("has no secret")
	case strings.Contains(c.User, ":"):
		return nil, errors.New("the principal must not contain a colon, because of HTTP basic authentication")
	}
	return &c, nil
}

// Warning is empty, or says that other users can read the credentials file.
func (c *Credentials) Warning() string { return c.warning }

// String hides the secret.
func (c Credentials) String() string { return c.User + ":***" }

// GoString hides the secret.
func (c Credentials) GoString() string { return c.String() }

// LogValue hides the secret.
func (c Credentials) LogValue() slog.Value { return slog.StringValue(c.String()) }

// header returns the value of the header Authorization.
func (c *Credentials) header() string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(c.User+":"+c.Secret))
}
