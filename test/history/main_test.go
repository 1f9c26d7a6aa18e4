package history_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
	"github.com/elasticjob-go/elasticjob/test/mariadb"
)

var bin system.Binaries

func TestMain(m *testing.M) { os.Exit(system.Main(m, &bin, 2)) }

// recorded is a database with a history, as a test reads it.
type recorded struct {
	m    *system.Machine
	db   *sql.DB
	name string
}

// look returns the history in the database that dsn names.
func look(t testing.TB, m *system.Machine, s *mariadb.Server, dsn string) *recorded {
	return &recorded{m, s.Root(t), dsn[strings.LastIndexByte(dsn, '/')+1:]}
}

// query reads rows of one column as text. In the statement, $ stands for the database before the name of a table.
func (h *recorded) query(query string) (rows []string, err error) {
	ctx, cancel := context.WithTimeout(h.m.Context(), 10*time.Second)
	defer cancel()
	found, err := h.db.QueryContext(ctx, strings.ReplaceAll(query, "$", h.name+"."))
	if err != nil {
		return nil, err
	}
	defer found.Close()
	for found.Next() {
		var row string
		if err := found.Scan(&row); err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, found.Err()
}

// ran returns what the jobs' processes recorded: a line for each run of a shard, and a line for each execution.
func (h *recorded) ran() (runs, executions []string) {
	h.m.Helper()
	for _, e := range h.m.Ledger() {
		switch e.What {
		case "end":
			runs = append(runs, fmt.Sprintf("%s %d %d FINISHED", e.Execution, e.Item, e.Attempt))
			executions = append(executions, e.Execution+" FINISHED")
		case "overlap":
			h.m.Errorf("%+v", e)
		}
	}
	slices.Sort(runs)
	slices.Sort(executions)
	return runs, slices.Compact(executions)
}

// awaitComplete waits until everything that ran is stored exactly once.
func (h *recorded) awaitComplete() {
	h.m.Helper()
	h.m.Until("what ran is in the database, once", func() string { return h.difference(h.ran()) })
}

// difference describes how the database differs from what ran; "" if it contains just that. It counts as different
// while nothing ran.
func (h *recorded) difference(runs, executions []string) string {
	for what, want := range map[string][]string{
		"SELECT CONCAT(execution_id, ' ', sharding_item, ' ', attempt, ' ', state) FROM $JOB_EXECUTION_LOG": runs,
		"SELECT CONCAT(id, ' ', state) FROM $JOB_EXECUTION":                                                 executions,
	} {
		got, err := h.query(what)
		if err != nil {
			return err.Error()
		}
		slices.Sort(got)
		if len(want) == 0 || !slices.Equal(got, want) {
			missing := slices.DeleteFunc(slices.Clone(want), func(w string) bool { return slices.Contains(got, w) })
			surplus := slices.DeleteFunc(slices.Clone(got), func(g string) bool { return slices.Contains(want, g) })
			return fmt.Sprintf("%d rows, want %d; missing %.300q, too many %.300q", len(got), len(want), missing,
				surplus)
		}
	}
	return ""
}

// load registers jobs that fire each second. rest stops their fires, and returns when all their runs have ended.
func load(m *system.Machine, jobs, shards int) (rest func()) {
	m.App("app", system.Files{"bin/start.sh": system.Ledger}, nil)
	name := func(i int) string { return fmt.Sprintf("job_%d", i) }
	for i := range jobs {
		m.Job(name(i), "app", system.Doc{"cron": "* * * * * ?", "misfire": true, "shardingTotalCount": shards})
	}
	return func() {
		m.Helper()
		for i := range jobs { // running shards run to their end
			m.Update(name(i), system.Doc{"cron": "0 0 3 1 1 ?"})
		}
		m.Until("everything has ended", func() string {
			for i := range jobs {
				if x := m.Explain(name(i)); len(x.Running)+len(x.Waiting) > 0 {
					return fmt.Sprintf("%+v", x)
				}
			}
			return ""
		})
	}
}

// awaitRuns waits until the jobs' processes have ended this many times more.
func awaitRuns(m *system.Machine, more int) {
	m.Helper()
	count := func() (n int) {
		for _, e := range m.Ledger() {
			if e.What == "end" {
				n++
			}
		}
		return n
	}
	begin := count()
	m.Until(fmt.Sprintf("%d more runs", more), func() string {
		if n := count() - begin; n < more {
			return fmt.Sprintf("there are %d", n)
		}
		return ""
	})
}

// noneLost checks that the server reports no lost rows.
func noneLost(m *system.Machine) {
	m.Helper()
	for _, cause := range []string{"outbox_full", "outbox_failed", "refused"} {
		if n := m.Metric(`elasticjob_history_rows_lost_total{cause="` + cause + `"}`); n != "0" {
			m.Errorf("%s rows are lost: %s", n, cause)
		}
	}
}
