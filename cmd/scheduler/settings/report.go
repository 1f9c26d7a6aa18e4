package settings

import (
	"cmp"
	"fmt"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings/commandline"
)

// report collects errors about the settings, and notes, which are warnings about valid settings.
type report struct {
	commandline.Errors
	notes []string
	// sources are the sources of the values that are not defaults, by flag.
	sources map[string]string
}

func (r *report) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// given reports whether any source has set the flag.
func (r *report) given(flag string) bool { return r.sources[flag] != "" }

// source returns the source of a flag's value, or the name of the flag if no source has set it.
func (r *report) source(flag string) string { return cmp.Or(r.sources[flag], "--"+flag) }

// require adds an error for each flag that was given, unless the setting on which the flags depend is present.
func (r *report) require(present bool, setting string, flags ...string) {
	for _, flag := range flags {
		r.Unless(present || !r.given(flag), "%s has no effect without %s", r.source(flag), setting)
	}
}

// secret returns the secret in the file that a flag names. If the file cannot be read, it adds an error and returns
// "".
func (r *report) secret(flag, path string) Secret {
	secret, err := readSecret(path)
	r.About(r.source(flag), err)
	return secret
}
