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

// Settings reads a Config from all sources, and records the source of each value.
type Settings struct {
	config Config
	flags  *pflag.FlagSet
	groups []*pflag.FlagSet
	report report
}

// New adds the server's flags to the flags of a command.
func New(flags *pflag.FlagSet) *Settings {
	s := &Settings{flags: flags, report: report{sources: map[string]string{}}}
	s.groups = s.config.flags(flags)
	return s
}

// Groups returns the flags in the groups of --help, in its order.
func (s *Settings) Groups() []*pflag.FlagSet { return slices.Clone(s.groups) }

// Config returns the settings. They are valid after Complete has returned nil.
func (s *Settings) Config() Config {
	c := s.config
	c.Notes = slices.Clone(s.report.notes)
	return c
}

// Complete reads the environment and the files, and returns one error about all invalid and contradictory settings. If
// flags or variables are empty, the error is only about these, because their intended values are unknown. uid is the
// user of this process.
func (s *Settings) Complete(env map[string]string, uid int) error {
	return s.complete(env, func(fileRead bool) {
		s.config.check(&s.report, uid, fileRead)
		var err error
		s.config.Failpoint, err = failpoint(env[FailpointVariable])
		s.report.Errors = append(s.report.Errors, err)
	})
}

// CompleteRegistry is Complete for commands that require only the location of the registry. It does not check the
// other settings.
func (s *Settings) CompleteRegistry(env map[string]string) error {
	return s.complete(env, func(bool) { s.config.checkRegistryOnly(&s.report) })
}

// CompleteAddress is Complete for commands that require only the address on which this server listens.
func (s *Settings) CompleteAddress(env map[string]string) error {
	return s.complete(env, func(bool) {
		s.report.About(s.report.source("listen"), checkListen(s.config.API.Listen))
	})
}

// complete reads the environment and the file of --config, calls check, and returns all errors. If the file could not
// be read, fileRead is false, so that check does not demand settings that the file may contain.
func (s *Settings) complete(env map[string]string, check func(fileRead bool)) error {
	s.flags.Visit(func(f *pflag.Flag) { s.report.sources[f.Name] = "--" + f.Name })
	variables := Variables(s.flags)
	if err := errors.Join(commandline.RefuseEmpty(s.flags), refuseEmptyVariables(env, variables)); err != nil {
		return err
	}
	fromEnvironment(env, variables, &s.report, s.set)
	var err error
	if s.config.file != "" {
		err = fromOriginal(env, &s.config, &s.report, s.set)
		s.report.Errors = append(s.report.Errors, err)
	}
	check(err == nil)
	return s.report.Join()
}

// set is the setter of all sources but the command line.
func (s *Settings) set(flag, value, source string) error {
	if s.report.given(flag) {
		return nil
	}
	if err := commandline.Set(s.flags, flag, value); err != nil {
		return err
	}
	s.report.sources[flag] = source
	return nil
}

// Show prints each setting with its source, and then the notes. It prints no secrets.
func (s *Settings) Show(out io.Writer) error {
	var text strings.Builder
	s.flags.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Name == "version" || f.Name == "check-config" {
			return
		}
		value, source := hidePassword(f.Value.String()), s.report.sources[f.Name]
		switch {
		case f.Name == "zk-digest-file" && s.config.ZooKeeper.digestFile == "" && s.config.ZooKeeper.Digest != "":
			value = s.config.ZooKeeper.Digest.String()
		case f.Name == "advertise" && value == "":
			value = s.config.API.Listen
		}
		switch source {
		case "":
			source = "the default"
		case "--" + f.Name:
			source = "the command line"
		}
		fmt.Fprintf(&text, "%-24s %-40s # %s\n", f.Name, value, source)
	})
	for _, note := range s.report.notes {
		fmt.Fprintf(&text, "# %s\n", note)
	}
	text.WriteString("# the configuration is valid; connections to registry, databases and cluster were not tried\n")
	_, err := io.WriteString(out, text.String())
	return err
}
