package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/lifecycle"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings/commandline"
	"github.com/elasticjob-go/elasticjob/history/database"
)

func migrateCommand() *cobra.Command {
	var history settings.HistoryDatabase
	var status bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Migrate the history's database to this release's version, or show its version",
		Long: `migrate creates the tables of the history in SQL, or brings those of an earlier release, or of ElasticJob, to
this release's version. A server does the same when it starts. Use this command to migrate before the start, or as a
user of the database who may change tables if the server's own user may not.

It waits for another migration of the same database. If it is interrupted, it continues when it is started again.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			address, err := history.Read(os.Getenv)
			if err == nil {
				err = history.CA.Trust()
			}
			if err != nil {
				return err
			}
			return migrate(cmd.Context(), address, status, cmd.OutOrStdout())
		},
	}
	commandline.RefuseBadFlags(cmd)
	history.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&status, "status", false,
		"show the version of the database and the version that this release needs, and change nothing; the exit status is 1 unless they are the same")
	return cmd
}

// migrate migrates the history's database at this address. With status it only writes the database's version to out,
// and returns an error if this release needs another version.
func migrate(ctx context.Context, address settings.DSN, status bool, out io.Writer) (err error) {
	if address == "" {
		return errors.New("name the database: --db-file FILE with user:password@tcp(host:3306)/database, or " +
			settings.EnvPrefix + "DB")
	}
	db, err := database.OpenMySQL(string(address), database.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return fmt.Errorf("--db: %w", err)
	}
	defer lifecycle.Closing(&err, db.Close)
	if status {
		has, needs, err := db.Versions(ctx)
		switch {
		case err != nil:
			return err
		case has != needs:
			return fmt.Errorf("the history's database has version %d, this release needs %d: run scheduler migrate, or start the server", has, needs)
		}
		fmt.Fprintf(out, "the history's database has version %d, which this release needs\n", has)
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
