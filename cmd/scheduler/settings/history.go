package settings

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/pflag"
)

// History are the settings of the history in SQL.
type History struct {
	// DSN is the address of a database. If it is empty, a server with --local uses a file in the data folder, and
	// other servers have no history in SQL.
	DSN DSN
	// Days and Rows are the maximum age of rows in the database, and the maximum number of rows of a large table.
	// OutboxMB is the maximum size of the outbox.
	Days     int
	Rows     int64
	OutboxMB int64

	file string // the file of --db-file, which contains the DSN
}

func (h *History) flags(f *pflag.FlagSet) {
	h.databaseFlags(f)
	f.IntVar(&h.Days, "history-days", 30,
		"delete older rows from the history in SQL; results of hours are kept for a year, those of days permanently")
	f.Int64Var(&h.Rows, "history-rows", 10_000_000,
		"maximum number of rows of each large table of the history in SQL; the oldest are deleted")
	f.Int64Var(&h.OutboxMB, "history-outbox-mb", 4096,
		"maximum size in MB of the folder outbox of --data-dir, which has the rows that are not in the database yet; rows beyond it are lost")
}

func (h *History) databaseFlags(f *pflag.FlagSet) {
	f.Var(&h.DSN, "db", "keep history in this database of MySQL 8 or MariaDB: user:password@tcp(host:3306)/database. With a password use --db-file or "+EnvPrefix+"DB: "+
		"every user of this machine can read a command line (default: with --local a file of --data-dir, else there is no history in SQL)")
	f.StringVar(&h.file, "db-file", "", "file with the address for --db, readable by its owner only")
}

// check reads and checks the DSN, and checks the limits. Its errors contain no password.
func (h *History) check(r *report) {
	source := readDSN(r, "db", &h.DSN, h.file)
	if h.DSN != "" {
		r.About(source, checkDSN(h.DSN))
	}
	r.Unless(h.Days >= 1 && h.Days <= 36_500, "%s %d: must be 1 to 36,500", r.source("history-days"), h.Days)
	r.Unless(h.OutboxMB >= 1 && h.OutboxMB <= 1<<20, "%s %d: must be 1 to 1,048,576",
		r.source("history-outbox-mb"), h.OutboxMB)
	r.Unless(h.Rows >= 1000 && h.Rows <= 10_000_000_000, "%s %d: must be 1,000 to 10,000,000,000",
		r.source("history-rows"), h.Rows)
}

// HistoryDatabase are the flags of a command that requires only the database of the history.
type HistoryDatabase struct {
	// CA is valid after Read.
	CA      CA
	history History
}

// AddFlags defines the flags.
func (d *HistoryDatabase) AddFlags(f *pflag.FlagSet) {
	d.history.databaseFlags(f)
	d.CA.flags(f)
}

// Read returns the address of the database: from the command line, or else from the environment. The address is empty
// if neither has one. Read also reads the certificate authorities.
func (d *HistoryDatabase) Read(getenv func(string) string) (DSN, error) {
	d.CA.file = cmp.Or(d.CA.file, getenv(EnvPrefix+"CA_FILE"))
	if err := d.CA.read(); err != nil {
		return "", fmt.Errorf("--ca-file: %w", err)
	}
	h := &d.history
	if h.DSN == "" && h.file == "" {
		h.DSN, h.file = DSN(getenv(EnvPrefix+"DB")), getenv(EnvPrefix+"DB_FILE")
	}
	if h.file == "" {
		return h.DSN, nil
	}
	if h.DSN != "" {
		return "", errors.New("--db and --db-file contradict each other: give one of them")
	}
	address, err := readSecret(h.file)
	if err != nil {
		return "", fmt.Errorf("--db-file: %w", err)
	}
	return DSN(address), nil
}
