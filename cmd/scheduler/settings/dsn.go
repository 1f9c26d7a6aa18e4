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

// Set accepts any text. The text is checked later, together with the other settings.
func (d *DSN) Set(text string) error { *d = DSN(text); return nil }

// Type returns the name of the type for --help.
func (d DSN) Type() string { return "DSN" }

// checkDSN returns an error if the address is not valid. The placeholder in deploy/kubernetes is an instruction for
// the user, which the error repeats.
func checkDSN(address DSN) error {
	if instruction, _, _ := strings.Cut(string(address), ":"); strings.HasPrefix(instruction, "fill in ") {
		return errors.New("the address is still to be filled in: " + instruction +
			", with nothing before the address, and apply it again")
	}
	return mysql.CheckDSN(string(address))
}

// readDSN reads the address from a file, the value of the flag --FLAG-file, if there is one. If the flag itself is
// given too, it adds an error. It adds a note if the command line contains a password. It returns the source of the
// address, for messages.
func readDSN(r *report, flag string, address *DSN, file string) (source string) {
	source = r.source(flag)
	switch {
	case file == "":
		end := max(strings.LastIndexByte(string(*address), '@'), 0)
		credentials := strings.TrimPrefix(string(*address)[:end], "mysql:")
		if r.sources[flag] == "--"+flag && strings.Contains(credentials, ":") {
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
