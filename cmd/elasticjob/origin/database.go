// Package origin reads the jobs of other schedulers from the databases or the ZooKeeper in which they are stored.
package origin

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	driver "github.com/go-sql-driver/mysql"

	"github.com/elasticjob-go/elasticjob/definitions/convert/sqldump"
	"github.com/elasticjob-go/elasticjob/internal/mysql"
)

// Tables reads the wanted tables of a MySQL or MariaDB database, all at one moment, and returns them by name, in the
// form in which sqldump returns the tables of a dump. Wanted tables that the database lacks are left out. others are
// the names of the other tables with the prefix. All names are in lower case; those in the database may have capitals.
//
// dsn is a DSN of the driver or a URL mysql://user:password@host/database. Errors contain no password.
func Tables(
	ctx context.Context, dsn string, wanted []string, prefix string,
) (tables map[string]*sqldump.Table, others []string, err error) {
	config, err := mysql.Config(dsn)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to the database: %w", err)
	}
	connector, err := driver.NewConnector(config)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to the database: %w", err)
	}
	db := sql.OpenDB(connector)
	defer func() { _ = db.Close() }()
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, nil, fmt.Errorf("connect to %s: %w", mysql.Name(dsn), err)
	}
	defer func() { _ = tx.Rollback() }()
	names, err := tableNames(ctx, tx)
	if err != nil {
		return nil, nil, fmt.Errorf("list the tables of %s: %w", mysql.Name(dsn), err)
	}
	tables = map[string]*sqldump.Table{}
	for _, name := range names {
		lower := strings.ToLower(name)
		switch {
		case slices.Contains(wanted, lower):
			t, err := readTable(ctx, tx, name)
			if err != nil {
				return nil, nil, fmt.Errorf("read the table %s of %s: %w", name, mysql.Name(dsn), err)
			}
			tables[lower] = t
		case strings.HasPrefix(lower, prefix):
			others = append(others, lower)
		}
	}
	return tables, others, nil
}

func tableNames(ctx context.Context, tx *sql.Tx) (names []string, err error) {
	rows, err := tx.QueryContext(ctx,
		"SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY table_name")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

func readTable(ctx context.Context, tx *sql.Tx, name string) (*sqldump.Table, error) {
	rows, err := tx.QueryContext(ctx, "SELECT * FROM `"+strings.ReplaceAll(name, "`", "``")+"`")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	t := &sqldump.Table{Name: strings.ToLower(name)}
	for _, column := range columns {
		t.Columns = append(t.Columns, strings.ToLower(column))
	}
	values := make([]sql.NullString, len(columns))
	into := make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		row := &sqldump.Row{Values: map[string]sqldump.Value{}}
		for i, value := range values {
			if value.Valid {
				row.Values[t.Columns[i]] = sqldump.Value{Text: value.String}
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t, rows.Err()
}
