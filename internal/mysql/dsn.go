// Package mysql is how a database of MySQL 8 or MariaDB is reached, whatever is kept in it: what its address looks
// like, what holds in each of its sessions, and the lock that keeps two migrations of it apart. It knows no tables.
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

// CheckDSN says what is wrong with a DSN, and what one looks like. No error shows its password.
func CheckDSN(dsn string) error {
	_, err := Config(dsn)
	return err
}

// HideDSN is a DSN without user and password, also if it can't be read.
func HideDSN(dsn string) string { return credentials.ReplaceAllString(dsn, "(hidden)@") }

// Name is what people know a database by, its address and its name, of a DSN that Config takes.
func Name(dsn string) string {
	c, err := Config(dsn)
	if err != nil {
		return HideDSN(dsn)
	}
	return c.Addr + "/" + c.DBName
}

// A password may hold any character: what stands behind the last @ is none of it.
var credentials = regexp.MustCompile(`(?s)^.*@`)

const example = "user:password@tcp(host:3306)/database, or mysql://user:password@host:3306/database with %XX for what has a meaning in a URL"

const scheme = "mysql://"

// otherURL matches what is a URL and no DSN: that of a user whose password begins with // has its address in brackets,
// or none.
var otherURL = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.:-]*)://[^()]*$`)

// fromURL is the DSN of a URL.
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

// dialTimeout is how long a connection may take, unless the DSN says timeout=.
const dialTimeout = 10 * time.Second

// Config is what the driver connects with for a DSN, or for a URL that says the same:
// mysql://user:password@host:3306/database. No error shows the password.
func Config(dsn string) (*driver.Config, error) {
	var c *driver.Config
	var err error
	if other := otherURL.FindStringSubmatch(dsn); other != nil && other[1]+"://" != scheme &&
		!strings.Contains(dsn, "@/") {
		return nil, fmt.Errorf("only MySQL and MariaDB are supported, by addresses that begin with mysql:// and not with %s://; want %s", other[1], example)
	}
	if strings.HasPrefix(dsn, scheme) {
		if dsn, err = fromURL(dsn); err != nil {
			return nil, fmt.Errorf("%w; want %s", err, example)
		}
	}
	c, err = driver.ParseDSN(dsn)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w; want %s", reason(err), example)
	case strings.ContainsAny(c.DBName, "@()") || c.User == "" && !strings.Contains(dsn, "@"):
		// What was meant as the password's or the address' was taken for something else.
		return nil, fmt.Errorf("it has no user; want %s", example)
	case c.DBName == "":
		return nil, fmt.Errorf("it names no database behind the address; want %s", example)
	case c.Net != "tcp" && c.Net != "unix":
		return nil, fmt.Errorf("the address must be tcp(host:port) or unix(/path/of/socket); want %s", example)
	}
	// These are ours, whatever the DSN says: parameters are bound by the server, times are text in UTC, text is UTF-8,
	// and what doesn't fit is refused, not cut in silence.
	c.ParseTime, c.MultiStatements, c.AllowAllFiles, c.InterpolateParams = false, false, false, false
	c.Loc = time.UTC
	c.ReadTimeout, c.WriteTimeout = 0, 0 // contexts end what takes too long; a migration of a large table may take an hour
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

// session is what holds in each session. A statement outside of a transaction is one of its own, and COMMIT begins no
// other one, whatever the server's defaults are.
var session = map[string]string{
	"time_zone": "'+00:00'", "sql_mode": "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'", "autocommit": "1",
	"completion_type": "0",
}

// overrule sets settings, whose names are the same in upper and lower case.
func overrule(given, by map[string]string) {
	for name := range given {
		if _, ours := by[strings.ToLower(name)]; ours {
			delete(given, name)
		}
	}
	maps.Copy(given, by)
}

// reason is what the driver says of a DSN, if it is known to hold nothing of it.
func reason(err error) error {
	if strings.HasPrefix(err.Error(), "invalid DSN: ") {
		return errors.New(strings.TrimPrefix(err.Error(), "invalid DSN: "))
	}
	return errors.New("it can't be read")
}
