package settings

import (
	"cmp"
	"fmt"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings/commandline"
)

// report collects the problems of the settings, and notes: warnings about valid settings.
type report struct {
	commandline.Errors
	notes []string
	// sources is, by flag, the source of each value that is not the default.
	sources map[string]string
}

func (r *report) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// given reports whether a flag was set by any source.
func (r *report) given(flag string) bool { return r.sources[flag] != "" }

// source returns the source of a flag's value, or the name of the flag if no source set it.
func (r *report) source(flag string) string { return cmp.Or(r.sources[flag], "--"+flag) }

// needs adds an error for each of the flags that was given, unless present is set. what names the setting that the
// flags depend on.
func (r *report) needs(present bool, what string, flags ...string) {
	for _, flag := range flags {
		r.Unless(present || !r.given(flag), "%s has no effect without %s", r.source(flag), what)
	}
}

// secret reads the secret in the file that a flag names. It returns "" and adds an error if that fails.
func (r *report) secret(flag, path string) Secret {
	found, err := readSecret(path)
	r.About(r.source(flag), err)
	return found
}
