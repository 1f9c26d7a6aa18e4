package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/api"
)

// settings fill a config from all places, and know where each value came from.
type settings struct {
	config *config
	flags  *pflag.FlagSet
	// sources say, by flag, where a value that is not the default was given.
	sources map[string]string
	// refused is set when the file of --config could not be read: what it says then counts for nothing.
	refused bool
	// uid is the user that this process runs as.
	uid int
}

func newSettings(c *config, flags *pflag.FlagSet) *settings {
	s := &settings{config: c, flags: flags, sources: map[string]string{}, uid: os.Geteuid()}
	flags.Visit(func(f *pflag.Flag) { s.sources[f.Name] = "--" + f.Name })
	return s
}

// set sets a flag from another source than the command line.
func (s *settings) set(flag, value, where string) error {
	if err := s.flags.Set(flag, value); err != nil {
		return badValue(err)
	}
	s.sources[flag] = where
	return nil
}

// complete reads the environment and the files, and refuses what is wrong or contradicts, all of it at
// once; what is empty first, since what was meant there is not known.
func (s *settings) complete(env map[string]string) error {
	if err := errors.Join(refuseEmpty(s.flags), s.refuseEmptyVariables(env)); err != nil {
		return err
	}
	errs := []error{s.fromEnvironment(env)}
	if s.config.configFile != "" {
		err := s.fromOriginal(env)
		s.refused = err != nil
		errs = append(errs, err)
	}
	errs = append(errs, s.check())
	var err error
	s.config.failpoint, err = failpoint(env[failpointVariable])
	return errors.Join(append(errs, err)...)
}

// completeRegistry is complete for commands that need to know only where the registry is.
func (s *settings) completeRegistry(env map[string]string) error {
	return s.completeSome(env, func(bad *complaints) {
		s.checkZooKeeper(bad)
		s.checkRegistry(bad)
		c := s.config
		bad.unless(!c.local || c.zk == "",
			"%s and %s contradict each other: on one machine users and tokens are kept in a file", s.said("local"),
			s.said("zk"))
		for _, flag := range []string{"zk-namespace", "zk-digest-file"} {
			bad.unless(c.zk != "" || s.sources[flag] == "", "%s has no effect without --zk", s.said(flag))
		}
		bad.unless(c.elected() || c.dataDir != "", "--data-dir: no home folder is known here; name a folder")
	})
}

// completeAddress is complete for commands that need to know only where this server listens.
func (s *settings) completeAddress(env map[string]string) error {
	return s.completeSome(env, func(bad *complaints) { bad.about(s.said("listen"), api.CheckListen(s.config.listen)) })
}

// completeSome is complete for commands that need a part of the settings, which is checked: the others may be given,
// and are not judged.
func (s *settings) completeSome(env map[string]string, check func(*complaints)) error {
	if err := errors.Join(refuseEmpty(s.flags), s.refuseEmptyVariables(env)); err != nil {
		return err
	}
	errs := []error{s.fromEnvironment(env)}
	if s.config.configFile != "" {
		errs = append(errs, s.fromOriginal(env))
	}
	var bad complaints
	check(&bad)
	return errors.Join(errors.Join(errs...), errors.Join(bad...))
}

// show prints what is in force and where it comes from, and what has no effect.
func (s *settings) show(out io.Writer) error {
	var text strings.Builder
	s.flags.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Name == "version" || f.Name == "check-config" {
			return
		}
		value, from := hidePassword(f.Value.String()), s.sources[f.Name]
		switch {
		case f.Name == "zk-digest-file" && s.config.zkDigestFile == "" && s.config.zkDigest != "":
			value = s.config.zkDigest.String()
		case f.Name == "advertise" && value == "":
			value = s.config.listen
		}
		switch from {
		case "":
			from = "the default"
		case "--" + f.Name:
			from = "the command line"
		}
		fmt.Fprintf(&text, "%-24s %-40s # %s\n", f.Name, value, from)
	})
	for _, note := range s.config.notes {
		fmt.Fprintf(&text, "# %s\n", note)
	}
	text.WriteString("# the configuration can be used; whether registry, databases and cluster can be reached was not tried\n")
	_, err := io.WriteString(out, text.String())
	return err
}

// inURL matches the user and password of an address.
// To the last @: a password may hold another, and slashes.
var inURL = regexp.MustCompile(`://.*@`)

// hidePassword takes users and passwords out of addresses.
func hidePassword(text string) string { return inURL.ReplaceAllString(text, "://(hidden)@") }
