package settings

import (
	"errors"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/mysql"
)

// DSN is the address of a database. As a text it has no user and no password.
type DSN string

// String hides them.
func (d DSN) String() string { return mysql.HideDSN(string(d)) }

// Set takes any text: it is checked with the other settings.
func (d *DSN) Set(text string) error { *d = DSN(text); return nil }

// Type is the kind of value, for the help.
func (d DSN) Type() string { return "DSN" }

// checkDSN says what is wrong with an address. What deploy/kubernetes is delivered with in the place of one says
// itself what is to be done.
func checkDSN(address DSN) error {
	if todo, _, _ := strings.Cut(string(address), ":"); strings.HasPrefix(todo, "fill in ") {
		return errors.New("nobody has written an address there yet: " + todo +
			", with nothing before the address, and apply it again")
	}
	return mysql.CheckDSN(string(address))
}

// readDSN takes the address of a database from a flag, or from the file that the flag with -file behind its name
// names, and says which it was.
func readDSN(r *report, flag string, address *DSN, file string) (said string) {
	said = r.said(flag)
	switch {
	case file == "":
		if at := strings.LastIndexByte(string(*address), '@'); r.sources[flag] == "--"+flag && at > 0 &&
			strings.Contains(strings.TrimPrefix(string(*address)[:at], "mysql:"), ":") {
			r.note("the password in --%s can be read by everybody on this machine: write it to a file that only its owner can read, and name that with --%s-file, or set %s%s",
				flag, flag, EnvPrefix, strings.ToUpper(flag))
		}
	case *address != "":
		r.Add("%s and %s contradict each other: give one of them", said, r.said(flag+"-file"))
	default:
		said = r.said(flag + "-file")
		*address = DSN(r.secret(flag+"-file", file))
	}
	return said
}
