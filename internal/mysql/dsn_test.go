package mysql

import (
	"strings"
	"testing"
)

func TestCheckDSN(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"u:p@tcp(h:3306)/db", "u@tcp(h)/db", "u:p@unix(/run/mysqld/mysqld.sock)/db",
		"u:p/@:?(x@tcp(h:3306)/db?timeout=3s&tls=skip-verify", "u:p@/db", "u:p@tcp([::1]:3306)/db", "u://p@tcp(h)/db",
		"u://p@/db",
	} {
		if err := CheckDSN(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for bad, says := range map[string]string{
		"":                                    "user",
		"history.db":                          "slash",
		"u:hush@tcp(h:3306)":                  "slash",
		"u:hush@tcp(h:3306)/":                 "does not name a database",
		"u:hush@tcp(h:3306/db":                "brace",
		"u:hush@h:3306/db":                    "can't be read",
		"u:hu/sh@tcp(h:3306)":                 "user",
		"mysql://h:3306/db":                   "no user",
		"mysql://u:hush@:3306/db":             "one host",
		"mysql://u:hush@h1,h2/db":             "one host",
		"mysql://u:hush@h:3306":               "does not name a database",
		"mysql://u:hu%zzsh@h/db":              "can't be read",
		"mysql://u:hush@h/db?tls=hush":        "can't be read",
		"jdbc:mysql://h:3306/db?user=u":       "only MySQL and MariaDB are supported, by addresses that begin with mysql:// and not with jdbc:mysql://",
		"mariadb://u:hush@h/db":               "not with mariadb://",
		"sqlite:///data/registry.db":          "not with sqlite://",
		"zk://h1:2181,h2:2181/registry":       "not with zk://",
		"u:hush@udp(h:3306)/db":               "",
		"u:hush@tcp(h)/db?parseTime=hush":     "can't be read",
		"u:hush@tcp(h)/db?tls=hush":           "can't be read",
		"postgres://u:hush@h/db?sslmode=hush": "only MySQL and MariaDB are supported",
		"tcp(h:3306)/db":                      "user",
	} {
		err := CheckDSN(bad)
		if err == nil || !strings.Contains(err.Error(), says) ||
			!strings.Contains(err.Error(), "user:password@tcp(host:3306)/database") {
			t.Errorf("%q: %v", bad, err)
		}
		if err != nil && strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: the error shows a secret: %v", bad, err)
		}
	}
}

// TestURL checks that a URL is equivalent to a DSN.
func TestURL(t *testing.T) {
	t.Parallel()
	for url, dsn := range map[string]string{
		"mysql://u:p@h:3307/db":                "u:p@tcp(h:3307)/db",
		"mysql://u:p%40%2F%3A@h/db":            "u:p@/:@tcp(h:3306)/db",
		"mysql://u@[::1]/db?tls=true":          "u@tcp([::1]:3306)/db?tls=true",
		"mysql://u:p@h/db?timeout=3s&tls=true": "u:p@tcp(h:3306)/db?timeout=3s&tls=true",
	} {
		got, err := Config(url)
		want, wantErr := Config(dsn)
		if err != nil || wantErr != nil || got.FormatDSN() != want.FormatDSN() {
			t.Errorf("%s: %v, %v", url, err, wantErr)
		}
	}
}

func TestHideDSN(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"u:p@tcp(h:3306)/db":   "(hidden)@tcp(h:3306)/db",
		"u:p@x/@tcp(h:3306)/d": "(hidden)@tcp(h:3306)/d",
		"u:p\n@tcp(h)/d":       "(hidden)@tcp(h)/d",
	} {
		if got := HideDSN(given); got != want {
			t.Errorf("%q: %q", given, got)
		}
	}
}

func TestFromJDBC(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"jdbc:mysql://h:3307/db?useUnicode=true":           "root:p@ss/w@tcp(h:3307)/db",
		"jdbc:mariadb://h/db":                              "root:p@ss/w@tcp(h:3306)/db",
		"jdbc:mysql://h/db?useSSL=true":                    "root:p@ss/w@tcp(h:3306)/db?tls=skip-verify",
		"jdbc:mysql://h/db?sslMode=VERIFY_IDENTITY":        "root:p@ss/w@tcp(h:3306)/db?tls=true",
		"jdbc:mysql://[::1]:3306/db?characterEncoding=utf": "root:p@ss/w@tcp([::1]:3306)/db",
	} {
		if got, err := FromJDBC(given, "root", "p@ss/w"); got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", given, got, err, want)
		}
	}
	for _, bad := range []string{"", "h:3306/db", "jdbc:h2:mem:db", "jdbc:postgresql://h/db",
		"jdbc:mysql://h1:3306,h2:3306/db", "jdbc:mysql://h:3306", "jdbc:mysql:///db"} {
		if dsn, err := FromJDBC(bad, "root", "hush"); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %q, %v", bad, dsn, err)
		}
	}
}

// TestSettingsAreOverruled checks that a statement outside a transaction is a transaction of its own, and that COMMIT
// begins no new one, whatever the DSN says.
func TestSettingsAreOverruled(t *testing.T) {
	t.Parallel()
	c, err := Config("u:p@tcp(h)/db?autocommit=0&Completion_Type=2&AUTOCOMMIT=0")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Params) != 4 || c.Params["autocommit"] != "1" || c.Params["completion_type"] != "0" {
		t.Errorf("the session's settings are %v", c.Params)
	}
}
