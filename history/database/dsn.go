package database

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// CheckDSN says what is wrong with a DSN, and what one looks like. No error shows its password.
func CheckDSN(dsn string) error {
	_, err := parse(dsn)
	return err
}

// HideDSN is a DSN without user and password, also if it can't be read.
func HideDSN(dsn string) string { return credentials.ReplaceAllString(dsn, "(hidden)@") }

// A password may hold any character: what stands behind the last @ is none of it.
var credentials = regexp.MustCompile(`(?s)^.*@`)

const example = "user:password@tcp(host:3306)/database"

// dialTimeout is how long a connection may take, unless the DSN says timeout=.
const dialTimeout = 10 * time.Second

func parse(dsn string) (*mysql.Config, error) {
	c, err := mysql.ParseDSN(dsn)
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
	// These are ours, whatever the DSN says: parameters are bound by the server, times are text in UTC, text is UTF-8, and what doesn't fit is refused, not cut in silence.
	c.ParseTime, c.MultiStatements, c.AllowAllFiles, c.InterpolateParams = false, false, false, false
	c.Loc = time.UTC
	c.ReadTimeout, c.WriteTimeout = 0, 0 // contexts end what takes too long; a migration of a large table may take an hour
	if c.Params == nil {
		c.Params = map[string]string{}
	}
	c.Params["time_zone"] = "'+00:00'"
	c.Params["sql_mode"] = "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'"
	if c.Timeout == 0 {
		c.Timeout = dialTimeout
	}
	if err := c.Apply(mysql.Charset("utf8mb4", "utf8mb4_bin")); err != nil {
		return nil, fmt.Errorf("set the character set: %w", err)
	}
	return c, nil
}

// reason is what the driver says of a DSN, if it is known to hold nothing of it.
func reason(err error) error {
	if strings.HasPrefix(err.Error(), "invalid DSN: ") {
		return errors.New(strings.TrimPrefix(err.Error(), "invalid DSN: "))
	}
	return errors.New("it can't be read")
}
