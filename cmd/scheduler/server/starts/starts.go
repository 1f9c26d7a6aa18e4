// Package starts records how the starts of a server end. After several starts that were killed for their memory within
// a short time, it makes the next start hold its launches.
package starts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/lifecycle"
)

// A server may be killed for its memory as soon as it launches the waiting tasks. It would be killed again at every
// start, and no user could disable the job that causes it. Therefore each start is recorded in the data folder,
// together with the memory that the process uses, until the process has lived for SettledAfter or ends by itself.
//
// If crashesToHold starts in a row did neither, and the last of them used more than nearLimit of its memory, the next
// start launches nothing (step.Options.Held) if it leads within SettledAfter. The start after that launches again. A
// start that fails within SettledAfter, for example because its port is in use, says nothing about memory. It restores
// the previous record, so that the next start makes the same decision.
const (
	// SettledAfter is how long a start must live to count as successful.
	SettledAfter    = time.Minute
	crashesToHold   = 2
	nearLimit       = 0.8
	measureInterval = 50 * time.Millisecond
	// startsBytes is the size of the file. The record is padded with spaces, so that each write replaces the whole
	// file.
	startsBytes = 512
)

// startRecord is the content of the file.
type startRecord struct {
	// Crashes is how many starts in a row, before the present one, ended uncleanly within SettledAfter.
	Crashes int `json:"crashes"`
	// Open is true until the present start has settled or ended.
	Open bool `json:"open"`
	// Memory is the last measured use of memory, in bytes. Limit is the limit, or 0 if there is none.
	Memory int64 `json:"memory"`
	Limit  int64 `json:"limit"`
}

// next returns the record of the next start. held is the reason why that start must launch nothing, or "".
func (r startRecord) next(limit int64) (now startRecord, held string) {
	now = startRecord{Open: true, Limit: limit}
	if !r.Open {
		return now, ""
	}
	now.Crashes = r.Crashes + 1
	if now.Crashes < crashesToHold || r.Limit <= 0 || float64(r.Memory) <= nearLimit*float64(r.Limit) {
		return now, ""
	}
	return startRecord{Open: true, Limit: limit}, fmt.Sprintf(
		"this server was killed %d times within a minute of its start, "+
			"the last time with %d of its %d MiB of memory in use",
		now.Crashes, r.Memory>>20, r.Limit>>20)
}

// Starts records the present start.
type Starts struct {
	file   *os.File
	record startRecord
	before startRecord // the record before this start
	log    *slog.Logger
	stop   func()
	warned bool // an error of writing the record was logged
}

// Open records a start in the data folder. held is the reason why the server must launch nothing if it leads within
// SettledAfter, or "". Nothing else depends on the record. So Open only logs errors, and a record that cannot be read
// counts as none.
func Open(dir string, log *slog.Logger) (s *Starts, held string) { return open(dir, ownMemory(), log) }

func open(dir string, m memory, log *slog.Logger) (s *Starts, held string) {
	s = &Starts{log: log, stop: func() {}}
	file, err := os.OpenFile(filepath.Join(dir, "starts.json"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		s.warn(err)
		return s, ""
	}
	s.file = file
	content, err := io.ReadAll(io.LimitReader(file, startsBytes))
	if err == nil && len(content) > 0 {
		err = json.Unmarshal(content, &s.before)
	}
	if err != nil {
		log.Warn("record of earlier starts not read: this start counts as the first", "file", file.Name(), "error", err)
		s.before = startRecord{}
	}
	limit := m.limit()
	s.record, held = s.before.next(limit)
	s.record.Memory = m.used()
	s.write()
	s.stop = lifecycle.Background(func(ctx context.Context) { s.measure(ctx, m) })
	return s, held
}

// measure keeps the record up to date until the start has settled or ctx ends.
func (s *Starts) measure(ctx context.Context, m memory) {
	tick := time.NewTicker(measureInterval)
	defer tick.Stop()
	settled := time.NewTimer(SettledAfter)
	defer settled.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-settled.C:
			s.record.Open = false
			s.write()
			return
		case <-tick.C:
			if used := m.used(); used != s.record.Memory {
				s.record.Memory = used
				s.write()
			}
		}
	}
}

// End records that the process ends by itself. failed is true if it ends because of an error.
func (s *Starts) End(failed bool) {
	s.stop()
	if s.file == nil {
		return
	}
	if failed && s.record.Open {
		s.record = s.before
	} else {
		s.record.Open = false
	}
	s.write()
	_ = s.file.Close() // the record has been written
}

// write replaces the content of the file. It does not sync the file, because the record must survive a crash of the
// process, not of the machine.
func (s *Starts) write() {
	content, err := json.Marshal(s.record)
	if err == nil {
		_, err = s.file.WriteAt(fmt.Appendf(nil, "%-*s\n", startsBytes-1, content), 0)
	}
	s.warn(err)
}

// warn logs the first error of writing the record.
func (s *Starts) warn(err error) {
	if err != nil && !s.warned && !errors.Is(err, os.ErrClosed) {
		s.warned = true
		s.log.Warn("start not recorded: if this server is killed for its memory, the next starts launch again what caused it",
			"error", err)
	}
}
