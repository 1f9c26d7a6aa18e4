package mysql

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	driver "github.com/go-sql-driver/mysql"
)

// FromJDBC converts the original's settings to a DSN: the address jdbc:mysql://host:port/database or jdbc:mariadb:…,
// and the user and password. It keeps those parameters after the ? that are for TLS. The error never contains the
// password.
func FromJDBC(address, user, password string) (dsn string, err error) {
	rest, ok := strings.CutPrefix(address, "jdbc:")
	u, err := url.Parse(rest)
	switch {
	case !ok || err != nil:
		return "", errors.New("must be jdbc:mysql://host:port/database")
	case u.Scheme != "mysql" && u.Scheme != "mariadb":
		return "", errors.New("history is kept in MySQL or MariaDB: must be jdbc:mysql://host:port/database")
	case u.Hostname() == "" || strings.Contains(u.Host, ","):
		return "", errors.New("must have one host: jdbc:mysql://host:port/database")
	}
	c := driver.NewConfig()
	c.User, c.Passwd, c.DBName, c.Net = user, password, strings.TrimPrefix(u.Path, "/"), "tcp"
	c.Addr = net.JoinHostPort(u.Hostname(), port(u))
	switch mode := u.Query(); {
	case strings.HasPrefix(strings.ToUpper(mode.Get("sslMode")), "VERIFY"),
		mode.Get("verifyServerCertificate") == "true":
		c.TLSConfig = "true"
	case strings.EqualFold(mode.Get("sslMode"), "REQUIRED"), mode.Get("useSSL") == "true",
		mode.Get("requireSSL") == "true":
		c.TLSConfig = "skip-verify"
	}
	dsn = c.FormatDSN()
	if err := CheckDSN(dsn); err != nil {
		return "", fmt.Errorf("it makes no DSN: %w", err)
	}
	return dsn, nil
}

// port returns the port of a URL, or the default port.
func port(u *url.URL) string {
	if u.Port() != "" {
		return u.Port()
	}
	return "3306"
}
