// Package starts records the starts of a server, and has one launch nothing that was killed for its memory as soon as
// it launched.
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

// A server that is killed for its memory as soon as it launches what waits would be killed at every start, and nobody
// could disable the job that causes it. So each start is recorded in the data folder with how much memory the process
// has, until it has lived for SettledAfter or has ended by itself. After crashesToHold starts in a row that did
// neither, the last one with more than nearLimit of its memory in use, a server launches nothing (step.Options.Held)
// if it leads within SettledAfter. The next start launches again. A start that fails meanwhile, as where its port is
// taken, shows nothing, and leaves the record as it was before it: what would have been held is held at the next one.
const (
	// SettledAfter is how long a start has to live to count as one that went well.
	SettledAfter    = time.Minute
	crashesToHold   = 2
	nearLimit       = 0.8
	measureInterval = 50 * time.Millisecond
	// startsBytes is how long the file is, filled up with spaces: each write replaces all of it.
	startsBytes = 512
)

// startRecord is what is kept of the starts of a server.
type startRecord struct {
	// Crashes is how many starts before the present one ended uncleanly within SettledAfter, in a row.
	Crashes int `json:"crashes"`
	// Open is set while the present start has neither settled nor ended.
	Open bool `json:"open"`
	// Memory is what the process was last seen to have in use, and Limit what it may have, in bytes; 0 where nothing
	// limits it.
	Memory int64 `json:"memory"`
	Limit  int64 `json:"limit"`
}

// next is the record of a start after this one, and why it is to launch nothing, or "".
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
	before startRecord // what it was before this start
	log    *slog.Logger
	stop   func()
	failed bool
}

// Open records a start in the data folder, and says why it is to launch nothing if it leads within SettledAfter, or
// "". Nothing but this depends on the record: one that can't be read counts as none, and one that can't be written is
// logged.
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
		log.Warn("record of the last starts not read: this one counts as the first", "file", file.Name(), "error", err)
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

// End records that the process ends by itself, because it failed or because it was asked to.
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
	_ = s.file.Close() // what was written stays
}

// write replaces the record. It need not be on disk: it is to outlive the process, not the machine.
func (s *Starts) write() {
	content, err := json.Marshal(s.record)
	if err == nil {
		_, err = s.file.WriteAt(fmt.Appendf(nil, "%-*s\n", startsBytes-1, content), 0)
	}
	s.warn(err)
}

func (s *Starts) warn(err error) {
	if err != nil && !s.failed && !errors.Is(err, os.ErrClosed) {
		s.failed = true
		s.log.Warn("start not recorded: if this server is killed for its memory, the next starts launch again what caused it",
			"error", err)
	}
}
