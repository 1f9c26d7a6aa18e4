package main

import (
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/internal/mysql"
	"github.com/elasticjob-go/elasticjob/registry/database"
)

// inDatabase is a registry in SQL, as the flags name it.
type inDatabase struct {
	db    dsn
	file  string // which holds what --registry takes
	lease time.Duration
}

func (c *config) registryFlags(f *pflag.FlagSet) {
	f.Var(&c.registry.db, "registry", "keep configuration and state in this database of MySQL 8 or MariaDB, and elect a leader there: mysql://user:password@host:3306/database. With a password use --registry-file or "+envPrefix+"REGISTRY: "+
		"everybody on this machine can read a command line. It may be that of --db")
	f.StringVar(&c.registry.file, "registry-file", "", "file with what --registry takes, readable by its owner only")
	f.DurationVar(&c.registry.lease, "registry-lease", database.DefaultLease,
		"with --registry: a leader that is silent for so long has lost the lead, and another has it within a second. The same on all servers")
}

// elected reports whether servers elect their leader, so that others can lead than this one. Without that the registry
// is a file of this server's own.
func (c *config) elected() bool { return c.zk != "" || c.registry.db != "" }

// checkRegistry refuses an address that can't be used, and two places for one registry. It shows no password.
func (s *settings) checkRegistry(bad *complaints) {
	c := s.config
	said := s.readDSN(bad, "registry", &c.registry.db, c.registry.file)
	if c.registry.db == "" {
		return
	}
	bad.about(said, checkDSN(c.registry.db))
	bad.unless(c.zk == "", "%s and %s contradict each other: the registry is in one place; scheduler backup and scheduler restore bring it from one to the other", said, s.said("zk"))
	bad.unless(!c.local, "%s and %s contradict each other: on one machine the registry is a file, and there is no election", s.said("local"), said)
	bad.unless(c.registry.lease >= database.LeastLease && c.registry.lease <= database.MostLease,
		"%s %s: want %s to 5m", s.said("registry-lease"), c.registry.lease, database.LeastLease)
}

// checkDSN says what is wrong with an address. What deploy/kubernetes is delivered with in the place of one says
// itself what is to be done.
func checkDSN(address dsn) error {
	if todo, _, _ := strings.Cut(string(address), ":"); strings.HasPrefix(todo, "fill in ") {
		return errors.New("nobody has written an address there yet: " + todo +
			", with nothing before the address, and apply it again")
	}
	return mysql.CheckDSN(string(address))
}

// readDSN takes the address of a database from a flag, or from the file that the flag with -file behind its name
// names, and says which it was.
func (s *settings) readDSN(bad *complaints, flag string, address *dsn, file string) (said string) {
	said = s.said(flag)
	switch {
	case file == "":
		if at := strings.LastIndexByte(string(*address), '@'); s.sources[flag] == "--"+flag && at > 0 &&
			strings.Contains(strings.TrimPrefix(string(*address)[:at], "mysql:"), ":") {
			s.note("the password in --%s can be read by everybody on this machine: write it to a file that only its owner can read, and name that with --%s-file, or set %s%s",
				flag, flag, envPrefix, strings.ToUpper(flag))
		}
	case *address != "":
		bad.add("%s and %s contradict each other: give one of them", said, s.said(flag+"-file"))
	default:
		said = s.said(flag + "-file")
		*address = dsn(s.readSecret(bad, flag+"-file", file))
	}
	return said
}

// options are how the registry in SQL is opened.
func (r inDatabase) options() database.Options {
	return database.Options{DSN: string(r.db), Lease: r.lease}
}

// seenFile is what a server remembers the registry's latest commit in.
func seenFile(dataDir string) string { return filepath.Join(dataDir, "registry-seen.json") }
