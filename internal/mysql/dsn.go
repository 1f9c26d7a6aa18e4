// Package mysql connects to a MySQL 8 or MariaDB database: the format of its address, the settings of each session,
// and the lock that serializes migrations. It knows no tables except those that migrations need.
package mysql

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"
)

// CheckDSN returns an error for an invalid DSN, with an example of a valid one. The error never contains the password.
func CheckDSN(dsn string) error {
	_, err := Config(dsn)
	return err
}

// HideDSN returns a DSN without user and password, even if the DSN is invalid.
func HideDSN(dsn string) string { return credentials.ReplaceAllString(dsn, "(hidden)@") }

// Name returns the address and the name of the database of a valid DSN, for messages.
func Name(dsn string) string {
	c, err := Config(dsn)
	if err != nil {
		return HideDSN(dsn)
	}
	return c.Addr + "/" + c.DBName
}

// credentials matches everything up to the last @. A password may contain any character, so only the text after the
// last @ is certainly not part of it.
var credentials = regexp.MustCompile(`(?s)^.*@`)

const example = "user:password@tcp(host:3306)/database, or mysql://user:password@host:3306/database with %XX for what has a meaning in a URL"

const scheme = "mysql://"

// otherURL matches a URL, but no DSN: in a DSN whose password begins with //, the address is in parentheses.
var otherURL = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.:-]*)://[^()]*$`)

// fromURL converts a URL to a DSN.
func fromURL(address string) (string, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return "", errors.New("the URL can't be read")
	case u.User.Username() == "":
		return "", errors.New("the URL has no user")
	case u.Hostname() == "" || strings.Contains(u.Host, ","):
		return "", errors.New("the URL must have one host")
	case u.Fragment != "":
		return "", errors.New("the URL has a #")
	}
	c := driver.NewConfig()
	c.User, c.Net, c.Addr, c.DBName = u.User.Username(), "tcp", net.JoinHostPort(u.Hostname(), port(u)),
		strings.TrimPrefix(u.Path, "/")
	c.Passwd, _ = u.User.Password()
	dsn := c.FormatDSN()
	if u.RawQuery != "" {
		dsn += "?" + u.RawQuery
	}
	return dsn, nil
}

// dialTimeout is the timeout of a connection, unless the DSN has timeout=.
const dialTimeout = 10 * time.Second

// Config returns the driver's configuration for a DSN, or for the equivalent URL
// mysql://user:password@host:3306/database. The error never contains the password.
func Config(dsn string) (*driver.Config, error) {
	var c *driver.Config
	var err error
	other := otherURL.FindStringSubmatch(dsn)
	if other != nil && other[1]+"://" != scheme && !strings.Contains(dsn, "@/") {
		return nil, fmt.Errorf("only MySQL and MariaDB are supported, by addresses that begin with mysql:// and not with %s://; must be %s", other[1], example)
	}
	if strings.HasPrefix(dsn, scheme) {
		if dsn, err = fromURL(dsn); err != nil {
			return nil, fmt.Errorf("%w; must be %s", err, example)
		}
	}
	c, err = driver.ParseDSN(dsn)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w; must be %s", reason(err), example)
	case strings.ContainsAny(c.DBName, "@()") || c.User == "" && !strings.Contains(dsn, "@"):
		// A part of the password or the address was parsed as something else.
		return nil, fmt.Errorf("it has no user; must be %s", example)
	case c.DBName == "":
		return nil, fmt.Errorf("it does not name a database after the address; must be %s", example)
	case c.Net != "tcp" && c.Net != "unix":
		return nil, fmt.Errorf("the address must be tcp(host:port) or unix(/path/of/socket); must be %s", example)
	}
	// These settings are fixed, whatever the DSN says: the server binds parameters, times are text in UTC, text is
	// UTF-8, and a value that does not fit is refused instead of being cut silently.
	c.ParseTime, c.MultiStatements, c.AllowAllFiles, c.InterpolateParams = false, false, false, false
	c.Loc = time.UTC
	c.ReadTimeout, c.WriteTimeout = 0, 0 // contexts limit the time; a migration of a large table may take an hour
	if c.Params == nil {
		c.Params = map[string]string{}
	}
	overrule(c.Params, session)
	if c.Timeout == 0 {
		c.Timeout = dialTimeout
	}
	if err := c.Apply(driver.Charset("utf8mb4", "utf8mb4_bin")); err != nil {
		return nil, fmt.Errorf("set the character set: %w", err)
	}
	return c, nil
}

// session contains the settings of each session. Whatever the server's defaults are, a statement outside a transaction
// is a transaction of its own, and COMMIT does not begin another transaction.
var session = map[string]string{
	"time_zone": "'+00:00'", "sql_mode": "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'", "autocommit": "1",
	"completion_type": "0",
}

// overrule sets the fixed settings among the given ones. Names of settings are case-insensitive.
func overrule(given, fixed map[string]string) {
	for name := range given {
		if _, isFixed := fixed[strings.ToLower(name)]; isFixed {
			delete(given, name)
		}
	}
	maps.Copy(given, fixed)
}

// reason returns the driver's message about a DSN, if that certainly contains no part of the DSN, or a general message.
func reason(err error) error {
	if strings.HasPrefix(err.Error(), "invalid DSN: ") {
		return errors.New(strings.TrimPrefix(err.Error(), "invalid DSN: "))
	}
	return errors.New("it can't be read")
}
