package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/history/database"
	"github.com/elasticjob-go/elasticjob/internal/mysql"
)

// dsn is where history is kept. As a text it has no user and no password.
type dsn string

func (d dsn) String() string         { return mysql.HideDSN(string(d)) }
func (d *dsn) Set(text string) error { *d = dsn(text); return nil }
func (d dsn) Type() string           { return "DSN" }

// historyFlags defines the flags of the history in SQL.
func (c *config) historyFlags(f *pflag.FlagSet) {
	c.dbFlag(f)
	f.IntVar(&c.historyDays, "history-days", 30,
		"delete what is older from the history in SQL; results of hours are kept for a year, those of days for ever")
	f.Int64Var(&c.historyRows, "history-rows", 10_000_000,
		"delete the oldest rows of each large table of the history in SQL beyond so many")
	f.Int64Var(&c.historyOutboxMB, "history-outbox-mb", 4096,
		"what the database does not have yet is kept in the folder outbox of --data-dir; beyond so many MB it is lost to the history")
}

func (c *config) dbFlag(f *pflag.FlagSet) {
	f.Var(&c.db, "db", "keep history in this database of MySQL 8 or MariaDB: user:password@tcp(host:3306)/database. With a password use --db-file or "+envPrefix+"DB: "+
		"everybody on this machine can read a command line (default: with --local a file of --data-dir, else there is no history in SQL)")
	f.StringVar(&c.dbFile, "db-file", "", "file with what --db takes, readable by its owner only")
}

// checkHistory refuses a DSN that can't be used and bounds without sense. It shows no password.
func (s *settings) checkHistory(bad *complaints) {
	c := s.config
	said := s.readDSN(bad, "db", &c.db, c.dbFile)
	if c.db != "" {
		bad.about(said, checkDSN(c.db))
	}
	bad.unless(c.historyDays >= 1 && c.historyDays <= 36_500, "%s %d: want 1 to 36,500", s.said("history-days"),
		c.historyDays)
	bad.unless(c.historyOutboxMB >= 1 && c.historyOutboxMB <= 1<<20, "%s %d: want 1 to 1,048,576",
		s.said("history-outbox-mb"), c.historyOutboxMB)
	bad.unless(c.historyRows >= 1000 && c.historyRows <= 10_000_000_000, "%s %d: want 1,000 to 10,000,000,000",
		s.said("history-rows"), c.historyRows)
}

// trace makes the original's event_trace_rdb_… the DSN. As there, nothing is kept unless the address and the user are
// given.
func (s *settings) trace(values map[string]given, set func(flag, value, where string)) {
	url, user, password := values["event_trace_rdb_url"], values["event_trace_rdb_username"],
		values["event_trace_rdb_password"]
	switch {
	case s.sources["db"] != "" || s.sources["db-file"] != "" || url.value == "" && user.value == "" &&
		password.value == "":
		return
	case url.value == "" || user.value == "":
		s.note("%s has no effect: history in SQL needs event_trace_rdb_url and event_trace_rdb_username, or --db",
			cmp.Or(url.where, user.where, password.where))
		return
	}
	found, err := mysql.FromJDBC(url.value, user.value, password.value)
	if err != nil {
		s.note("%s has no effect: %v; or give --db", url.where, err)
		return
	}
	set("db", found, url.where)
}

// openHistory opens the database of the history in SQL, or returns nil if there is none. One that is down is no error:
// each call that asks it something says so.
func openHistory(c config, log *slog.Logger) (*database.DB, error) {
	switch {
	case c.db != "":
		db, err := database.OpenMySQL(string(c.db), database.Options{Logger: log})
		if err != nil {
			return nil, fmt.Errorf("--db: %w", err)
		}
		return db, nil
	case c.local:
		path := filepath.Join(c.dataDir, "history.db")
		if err := keepPrivate(path); err != nil {
			return nil, err
		}
		return database.OpenSQLite(path, database.Options{Logger: log})
	}
	return nil, nil
}

// keepPrivate makes a file that only its owner can read, or the one that is there such a file: others may pass through
// the data folder.
func keepPrivate(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = errors.Join(file.Chmod(0o600), file.Close())
	}
	if err != nil {
		return fmt.Errorf("keep the history to this user: %w", err)
	}
	return nil
}

func migrateCommand() *cobra.Command {
	var c config
	var status bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the history's database up to what this release needs, or say how it stands",
		Long: `migrate makes the tables of the history in SQL, or brings those of an earlier release, or of ElasticJob, up to
what this release needs. A server does the same when it starts: this is for those who want it done before, or by a
user of the database who may change tables, where the server's own may not.

It waits for another one that is migrating the same database. Cut off, it goes on when it is started again.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.readDB(os.Getenv); err != nil {
				return err
			}
			return migrate(cmd.Context(), c, status, cmd.OutOrStdout())
		},
	}
	refuseBadFlags(cmd)
	c.dbFlag(cmd.Flags())
	cmd.Flags().BoolVar(&status, "status", false,
		"say which version the database has and which one this release wants, and change nothing; the exit status is 1 unless they are the same")
	return cmd
}

// readDB takes the database from where the command line does not name one itself.
func (c *config) readDB(getenv func(string) string) error {
	if c.db == "" && c.dbFile == "" {
		c.db, c.dbFile = dsn(getenv(envPrefix+"DB")), getenv(envPrefix+"DB_FILE")
	}
	if c.dbFile == "" {
		return nil
	}
	if c.db != "" {
		return errors.New("--db and --db-file contradict each other: give one of them")
	}
	found, err := readSecret(c.dbFile)
	if err != nil {
		return fmt.Errorf("--db-file: %w", err)
	}
	c.db = dsn(found)
	return nil
}

func migrate(ctx context.Context, c config, status bool, out io.Writer) (err error) {
	if c.db == "" {
		return errors.New("say which database: --db-file FILE with user:password@tcp(host:3306)/database, or " +
			envPrefix + "DB")
	}
	db, err := openHistory(c, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer closing(&err, db.Close)
	if status {
		is, want, err := db.Versions(ctx)
		switch {
		case err != nil:
			return err
		case is != want:
			return fmt.Errorf("the history's database has version %d, this release wants %d: run scheduler migrate, or start the server", is, want)
		}
		fmt.Fprintf(out, "the history's database has version %d, as this release wants it\n", is)
		return nil
	}
	from, to, err := db.Migrate(ctx)
	switch {
	case err != nil:
		return err
	case from == to:
		fmt.Fprintf(out, "the history's database has version %d already\n", to)
	default:
		fmt.Fprintf(out, "the history's database was migrated from version %d to %d\n", from, to)
	}
	return nil
}
