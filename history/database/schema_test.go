package database

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shape is the form of tables that both kinds of databases share: by table, its columns, and its indexes with their
// columns.
type shape map[string]struct{ Columns, Indexes []string }

func (s shape) add(table, column, index string) {
	if strings.HasPrefix(table, "sqlite_") || table == versionTable {
		return
	}
	of := s[table]
	if column != "" {
		of.Columns = append(of.Columns, column)
	}
	if index != "" {
		of.Indexes = append(of.Indexes, index)
	}
	slices.Sort(of.Columns)
	slices.Sort(of.Indexes)
	s[table] = of
}

func shapeOf(t *testing.T, d *DB) shape {
	t.Helper()
	columns := `SELECT TABLE_NAME AS t, COLUMN_NAME AS c, IS_NULLABLE = 'NO' AS required FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()`
	indexes := `SELECT TABLE_NAME AS t, GROUP_CONCAT(COLUMN_NAME ORDER BY SEQ_IN_INDEX) AS c, MIN(NON_UNIQUE) = 0 AS only_one FROM information_schema.STATISTICS
		WHERE TABLE_SCHEMA = DATABASE() AND INDEX_NAME NOT IN ('PRIMARY', 'TASK_ID_STATE_INDEX') GROUP BY TABLE_NAME, INDEX_NAME`
	if d.dialect.folder == "sqlite" {
		columns = `SELECT m.name AS t, c.name AS c, c."notnull" OR c.pk > 0 AS required FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'`
		indexes = `SELECT m.name AS t, (SELECT GROUP_CONCAT(name) FROM pragma_index_info(i.name)) AS c, i."unique" AS only_one
			FROM sqlite_master m JOIN pragma_index_list(m.name) i WHERE m.type = 'table' AND i.origin = 'c'`
	}
	found := shape{}
	for _, row := range rowsFrom(t, d, columns) {
		found.add(row["t"].(string), row["c"].(string)+map[int64]string{1: " NOT NULL"}[row["required"].(int64)], "")
	}
	for _, row := range rowsFrom(t, d, indexes) {
		found.add(row["t"].(string), "", map[int64]string{1: "UNIQUE "}[row["only_one"].(int64)]+row["c"].(string))
	}
	return found
}

func TestBothKindsOfDatabasesHaveTheSameSchema(t *testing.T) {
	t.Parallel()
	inMaria, inFile := mysqlOf(t, server.Server(t).Database(t)), sqliteOf(t, t.TempDir()+"/history.db")
	migrate(t, inMaria)
	migrate(t, inFile)
	want := shapeOf(t, inMaria)
	if len(want) != 15 {
		t.Errorf("%d tables", len(want))
	}
	if diff := cmp.Diff(want, shapeOf(t, inFile)); diff != "" {
		t.Errorf("MariaDB (-), SQLite (+):\n%s", diff)
	}
	// [D95]
	for table, columns := range map[string][]string{
		"JOB_EXECUTION_LOG":    {"job_name", "task_id", "ip", "is_success", "start_time", "complete_time"},
		"JOB_STATUS_TRACE_LOG": {"job_name", "task_id", "slave_id", "source", "execution_type", "state", "creation_time"},
	} {
		for _, column := range columns {
			if !slices.ContainsFunc(want[table].Indexes,
				func(index string) bool { first, _, _ := strings.Cut(index, ","); return first == column }) {
				t.Errorf("%s has no index that begins with %s", table, column)
			}
		}
	}
}
