package settings

import (
	"errors"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/mysql"
)

// DSN is the address of a database. String hides its user and password.
type DSN string

// String returns the address without user and password.
func (d DSN) String() string { return mysql.HideDSN(string(d)) }

// Set accepts any text. It is checked later, together with the other settings.
func (d *DSN) Set(text string) error { *d = DSN(text); return nil }

// Type names the kind of value in --help.
func (d DSN) Type() string { return "DSN" }

// checkDSN validates an address. The placeholder in deploy/kubernetes contains an instruction, which becomes the
// error.
func checkDSN(address DSN) error {
	if todo, _, _ := strings.Cut(string(address), ":"); strings.HasPrefix(todo, "fill in ") {
		return errors.New("the address is still to be filled in: " + todo +
			", with nothing before the address, and apply it again")
	}
	return mysql.CheckDSN(string(address))
}

// readDSN sets address from the file of the flag --FLAG-file if one is named, and rejects two sources. It returns the
// source of the address for messages, and warns if the command line contains a password.
func readDSN(r *report, flag string, address *DSN, file string) (source string) {
	source = r.source(flag)
	switch {
	case file == "":
		if at := strings.LastIndexByte(string(*address), '@'); r.sources[flag] == "--"+flag && at > 0 &&
			strings.Contains(strings.TrimPrefix(string(*address)[:at], "mysql:"), ":") {
			r.note("the password in --%s can be read by every user of this machine: write it to a file that only its owner can read, and name that with --%s-file, or set %s%s",
				flag, flag, EnvPrefix, strings.ToUpper(flag))
		}
	case *address != "":
		r.Add("%s and %s contradict each other: give one of them", source, r.source(flag+"-file"))
	default:
		source = r.source(flag + "-file")
		*address = DSN(r.secret(flag+"-file", file))
	}
	return source
}
