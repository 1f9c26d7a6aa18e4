package settings

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings/commandline"
)

// Settings fills a Config from all sources, and knows the source of each value.
type Settings struct {
	config Config
	flags  *pflag.FlagSet
	groups []*pflag.FlagSet
	report report
}

// New adds the server's flags to those of a command.
func New(flags *pflag.FlagSet) *Settings {
	s := &Settings{flags: flags, report: report{sources: map[string]string{}}}
	s.groups = s.config.flags(flags)
	return s
}

// Groups returns the flags in the groups and order of --help, the most frequently used first.
func (s *Settings) Groups() []*pflag.FlagSet { return slices.Clone(s.groups) }

// Config returns the settings. They are valid once Complete has returned nil.
func (s *Settings) Config() Config {
	c := s.config
	c.Notes = slices.Clone(s.report.notes)
	return c
}

// Complete reads the environment and the files, and returns all invalid and contradictory settings in one error. If
// values are empty, it returns only those, because their intended values are unknown. uid is the user of this
// process.
func (s *Settings) Complete(env map[string]string, uid int) error {
	return s.complete(env, func(fileRead bool) {
		s.config.check(&s.report, uid, fileRead)
		var err error
		s.config.Failpoint, err = failpoint(env[FailpointVariable])
		s.report.Errors = append(s.report.Errors, err)
	})
}

// CompleteRegistry is Complete for commands that need only the location of the registry. It accepts the other
// settings without checking them.
func (s *Settings) CompleteRegistry(env map[string]string) error {
	return s.complete(env, func(bool) { s.config.checkRegistryOnly(&s.report) })
}

// CompleteAddress is Complete for commands that need only the address on which this server listens.
func (s *Settings) CompleteAddress(env map[string]string) error {
	return s.complete(env, func(bool) {
		s.report.About(s.report.source("listen"), checkListen(s.config.API.Listen))
	})
}

// complete adds the environment and the file of --config, calls check, and returns all problems. check receives
// whether the file, if there is one, could be read. If not, check does not ask for settings that the file may
// contain.
func (s *Settings) complete(env map[string]string, check func(fileRead bool)) error {
	s.flags.Visit(func(f *pflag.Flag) { s.report.sources[f.Name] = "--" + f.Name })
	ours := Variables(s.flags)
	if err := errors.Join(commandline.RefuseEmpty(s.flags), refuseEmptyVariables(env, ours)); err != nil {
		return err
	}
	fromEnvironment(env, ours, &s.report, s.set)
	var err error
	if s.config.file != "" {
		err = fromOriginal(env, &s.config, &s.report, s.set)
		s.report.Errors = append(s.report.Errors, err)
	}
	check(err == nil)
	return s.report.Join()
}

// set sets a flag from another source, unless an earlier source has set it.
func (s *Settings) set(flag, value, where string) error {
	if s.report.given(flag) {
		return nil
	}
	if err := commandline.Set(s.flags, flag, value); err != nil {
		return err
	}
	s.report.sources[flag] = where
	return nil
}

// Show prints each setting with its source, and then the notes.
func (s *Settings) Show(out io.Writer) error {
	var text strings.Builder
	s.flags.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Name == "version" || f.Name == "check-config" {
			return
		}
		value, from := hidePassword(f.Value.String()), s.report.sources[f.Name]
		switch {
		case f.Name == "zk-digest-file" && s.config.ZooKeeper.digestFile == "" && s.config.ZooKeeper.Digest != "":
			value = s.config.ZooKeeper.Digest.String()
		case f.Name == "advertise" && value == "":
			value = s.config.API.Listen
		}
		switch from {
		case "":
			from = "the default"
		case "--" + f.Name:
			from = "the command line"
		}
		fmt.Fprintf(&text, "%-24s %-40s # %s\n", f.Name, value, from)
	})
	for _, note := range s.report.notes {
		fmt.Fprintf(&text, "# %s\n", note)
	}
	text.WriteString("# the configuration is valid; connections to registry, databases and cluster were not tried\n")
	_, err := io.WriteString(out, text.String())
	return err
}
