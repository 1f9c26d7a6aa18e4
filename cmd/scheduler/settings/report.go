package settings

import (
	"cmp"
	"fmt"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings/commandline"
)

// report is what is found in the settings: what is wrong, and notes on what is not but should be known.
type report struct {
	commandline.Errors
	notes []string
	// sources say, by flag, where a value that is not the default was given.
	sources map[string]string
}

func (r *report) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// given reports whether a flag has a value that is not the default.
func (r *report) given(flag string) bool { return r.sources[flag] != "" }

// said is where a flag's value was given.
func (r *report) said(flag string) string { return cmp.Or(r.sources[flag], "--"+flag) }

// needs refuses flags that were given without what they need.
func (r *report) needs(present bool, what string, flags ...string) {
	for _, flag := range flags {
		r.Unless(present || !r.given(flag), "%s has no effect without %s", r.said(flag), what)
	}
}

// secret reads the secret in the file that a flag names.
func (r *report) secret(flag, path string) Secret {
	found, err := readSecret(path)
	r.About(r.said(flag), err)
	return found
}
