package database

import (
	"strings"
	"testing"
)

func TestCheckDSN(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"u:p@tcp(h:3306)/db", "u@tcp(h)/db", "u:p@unix(/run/mysqld/mysqld.sock)/db", "u:p/@:?(x@tcp(h:3306)/db?timeout=3s&tls=skip-verify", "u:p@/db", "u:p@tcp([::1]:3306)/db",
	} {
		if err := CheckDSN(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for bad, says := range map[string]string{
		"":                                    "user",
		"history.db":                          "slash",
		"u:hush@tcp(h:3306)":                  "slash",
		"u:hush@tcp(h:3306)/":                 "names no database",
		"u:hush@tcp(h:3306/db":                "brace",
		"u:hush@h:3306/db":                    "can't be read",
		"u:hu/sh@tcp(h:3306)":                 "user",
		"mysql://u:hush@h:3306/db":            "",
		"jdbc:mysql://h:3306/db?user=u":       "",
		"u:hush@udp(h:3306)/db":               "",
		"u:hush@tcp(h)/db?parseTime=hush":     "can't be read",
		"u:hush@tcp(h)/db?tls=hush":           "can't be read",
		"postgres://u:hush@h/db?sslmode=hush": "",
		"tcp(h:3306)/db":                      "user",
	} {
		err := CheckDSN(bad)
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "user:password@tcp(host:3306)/database") {
			t.Errorf("%q: %v", bad, err)
		}
		if err != nil && strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: the error shows a secret: %v", bad, err)
		}
		if _, err := OpenMySQL(bad, Options{}); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: open: %v", bad, err)
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
	for _, bad := range []string{"", "h:3306/db", "jdbc:h2:mem:db", "jdbc:postgresql://h/db", "jdbc:mysql://h1:3306,h2:3306/db", "jdbc:mysql://h:3306", "jdbc:mysql:///db"} {
		if dsn, err := FromJDBC(bad, "root", "hush"); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %q, %v", bad, dsn, err)
		}
	}
}
