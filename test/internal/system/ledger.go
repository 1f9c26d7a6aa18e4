package system

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Ledger is a script that records its runs, so that checks do not depend on what the server believes. It writes a line
// when it starts and a line when it ends. A file lock shows it whether another process of the same shard is still
// running; if so, it writes a line for that, too. It runs until the file $HOLD is removed, and then for $TAKES seconds.
const Ledger = `#!/bin/sh
say() { echo "$1 $ELASTICJOB_EXECUTION_ID $ELASTICJOB_SHARDING_ITEM $ELASTICJOB_ATTEMPT $$ $ELASTICJOB_FIRE_TIME" >>"$LEDGER"; }
exec 9>"$LEDGER.$ELASTICJOB_JOB_NAME.$ELASTICJOB_SHARDING_ITEM"
flock -n 9 || say overlap
say start
if [ -n "$HOLD" ]; then while [ -e "$HOLD" ]; do sleep 0.1; done; fi
if [ -n "$TAKES" ]; then sleep "$TAKES"; fi
say end
`

// Entry is a line of the ledger.
type Entry struct {
	What         string // start, end or overlap
	Execution    string
	Item         int
	Attempt, PID int
	FireTime     string
	// Offset is where in the ledger the line begins, in bytes.
	Offset int64
}

// Ledger reads the records of the processes of all jobs.
func (m *Machine) Ledger() []Entry {
	m.Helper()
	text, err := os.ReadFile(m.LedgerPath)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.Fatal(err)
	}
	var all []Entry
	offset := int64(0)
	for line := range strings.Lines(string(text)) {
		var e Entry
		if !strings.HasSuffix(line, "\n") {
			break // still being written
		}
		if _, err := fmt.Sscan(line, &e.What, &e.Execution, &e.Item, &e.Attempt, &e.PID, &e.FireTime); err != nil {
			m.Fatalf("ledger line %q: %v", line, err)
		}
		e.Offset = offset
		offset += int64(len(line))
		all = append(all, e)
	}
	return all
}

// AwaitStarts waits until the ledger has n starts of an execution, and returns them.
func (m *Machine) AwaitStarts(execution string, n int) []Entry {
	m.Helper()
	var starts []Entry
	m.Until(fmt.Sprintf("%d processes of %s run", n, execution), func() string {
		starts = nil
		for _, e := range m.Ledger() {
			if e.What == "start" && e.Execution == execution {
				starts = append(starts, e)
			}
		}
		if len(starts) < n {
			return fmt.Sprintf("%d do; %s", len(starts), m.OK("GET", "/api/execution/"+execution, ""))
		}
		return ""
	})
	return starts
}

// Part is one shard of one execution.
type Part struct {
	Execution string
	Item      int
}

// Ran counts starts and ends by part. Overlapping runs of a shard fail the test (promise 2).
func (m *Machine) Ran() (starts, ends map[Part]int) {
	m.Helper()
	starts, ends = map[Part]int{}, map[Part]int{}
	for _, e := range m.Ledger() {
		switch p := (Part{e.Execution, e.Item}); e.What {
		case "start":
			starts[p]++
		case "end":
			ends[p]++
		case "overlap":
			m.Errorf("promise 2: %+v ran while another process of its shard did", e)
		}
	}
	return starts, ends
}

// OnceEach checks that every part in the ledger started once and ended once.
func (m *Machine) OnceEach() {
	m.Helper()
	starts, ends := m.Ran()
	for p, n := range starts {
		if n != 1 || ends[p] != 1 {
			m.Errorf("%+v began %d times and ended %d times, want once", p, n, ends[p])
		}
	}
}

// Hold creates a file. Jobs with this path in the variable HOLD run until release removes it.
func (m *Machine) Hold() (path string, release func()) {
	m.Helper()
	path = filepath.Join(m.TempDir(), "hold")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		m.Fatal(err)
	}
	return path, func() {
		m.Helper()
		if err := os.Remove(path); err != nil {
			m.Fatal(err)
		}
	}
}

// LastFire returns the fire time of the latest of a job's fires that started to run; the zero time if there is none.
func (m *Machine) LastFire(job string) (last time.Time) {
	m.Helper()
	for _, e := range m.Ledger() {
		if strings.HasPrefix(e.Execution, job+"@") {
			at, err := time.Parse(time.RFC3339, e.FireTime)
			if err != nil {
				m.Fatal(err)
			}
			if at.After(last) {
				last = at
			}
		}
	}
	return last
}
