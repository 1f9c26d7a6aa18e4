package settings

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/registry/database"
)

// Registry are the settings of a registry in SQL.
type Registry struct {
	// DSN is the address of the database. It is empty if the registry is not in a database.
	DSN DSN
	// Lease is how long a leader may be silent before another server takes over.
	Lease time.Duration

	file string // the file of --registry-file, which contains the DSN
}

// Options returns the options for opening the registry.
func (d *Registry) Options() database.Options {
	return database.Options{DSN: string(d.DSN), Lease: d.Lease}
}

func (d *Registry) flags(f *pflag.FlagSet) {
	f.Var(&d.DSN, "registry", "keep configuration and state in this database of MySQL 8 or MariaDB, and elect a leader there: mysql://user:password@host:3306/database. With a password use --registry-file or "+EnvPrefix+"REGISTRY: "+
		"every user of this machine can read a command line. It may be that of --db")
	f.StringVar(&d.file, "registry-file", "", "file with the address for --registry, readable by its owner only")
	f.DurationVar(&d.Lease, "registry-lease", database.DefaultLease,
		"with --registry: time after which a silent leader loses leadership, and another server leads within a second. The same on all servers")
}

// check reads and checks the address, and adds an error if there is a second location for the registry. local and zk
// say whether --local and --zk are given. The errors contain no password.
func (d *Registry) check(r *report, local, zk bool) {
	source := readDSN(r, "registry", &d.DSN, d.file)
	if d.DSN == "" {
		return
	}
	r.About(source, checkDSN(d.DSN))
	r.Unless(!zk, "%s and %s contradict each other: the registry is in one place; scheduler backup and scheduler restore move it from one to the other",
		source, r.source("zk"))
	r.Unless(!local, "%s and %s contradict each other: on one machine the registry is a file, and there is no election",
		r.source("local"), source)
	r.Unless(d.Lease >= database.MinLease && d.Lease <= database.MaxLease,
		"%s %s: must be %s to 5m", r.source("registry-lease"), d.Lease, database.MinLease)
}
