package tasks

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/executor/output"
	"github.com/elasticjob-go/elasticjob/executor/pipe"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// minReportInterval is the shortest interval between two reports of progress.
const minReportInterval = time.Second

// reports collects the progress and health of tasks, which the executor sends between updates (wire.Report).
type reports struct {
	mu      sync.Mutex
	tasks   map[string]*taskEntry
	daemons int       // number of entries of daemons' shards
	sent    time.Time // when the last report was due
}

type taskEntry struct {
	wire.TaskReport
	daemon     bool      // the task is a daemon's shard
	changed    bool      // the progress has changed since the last report
	progressed time.Time // when the program last reported progress
}

func newReports() *reports { return &reports{tasks: map[string]*taskEntry{}} }

// entry returns the entry of a task, and creates it if there is none. The caller holds mu.
func (r *reports) entry(id string) *taskEntry {
	n := r.tasks[id]
	if n == nil {
		n = &taskEntry{TaskReport: wire.TaskReport{TaskID: id}}
		r.tasks[id] = n
	}
	return n
}

// progress records the progress of a task's run.
func (r *reports) progress(id string, m pipe.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.entry(id)
	n.Progress = &wire.Progress{Fraction: m.Fraction, Message: output.Readable(m.Message, wire.MaxProgressMessage),
		At: time.Now().UTC()}
	n.changed, n.progressed = true, n.Progress.At
}

// message sets the message of a task's progress to a text of the executor. It leaves the fraction as it is.
func (r *reports) message(id, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.entry(id)
	now := wire.Progress{Message: output.Readable(text, wire.MaxProgressMessage), Notice: true, At: time.Now().UTC()}
	if n.Progress != nil {
		now.Fraction, now.Notice = n.Progress.Fraction, n.Progress.Notice
	}
	n.Progress, n.changed = &now, true
}

// lastProgress returns when the program of a task last reported progress; zero if it has reported none.
func (r *reports) lastProgress(id string) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.tasks[id]; n != nil {
		return n.progressed
	}
	return time.Time{}
}

// shard records the totals of a daemon's shard and the fire time of its current run, which is zero if there is no run.
func (r *reports) shard(id string, fire time.Time, totals wire.Totals) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.entry(id)
	if !n.daemon {
		n.daemon = true
		r.daemons++
	}
	if !n.Fire.Equal(fire) {
		n.Fire, n.Progress = fire.UTC(), nil // the progress was that of another run
	}
	n.Totals = &totals
}

// remove removes a task from the reports, and returns its progress; nil if none was recorded.
func (r *reports) remove(id string) *wire.Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.tasks[id]
	if n == nil {
		return nil
	}
	if n.daemon {
		r.daemons--
	}
	delete(r.tasks, id)
	return n.Progress
}

// due returns the report to send now, if one is due: if a task's progress has changed, or if there are daemons' shards
// and the last report is about wire.ReportInterval old. The report has the tasks whose progress has changed and all
// daemons' shards.
func (r *reports) due(now time.Time) (_ wire.Report, isDue bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	isDue = r.daemons > 0 && now.Sub(r.sent) > wire.ReportInterval-minReportInterval
	for _, n := range r.tasks {
		isDue = isDue || n.changed
	}
	if !isDue {
		return wire.Report{}, false
	}
	report := wire.Report{Time: now.UTC()}
	for _, n := range r.tasks {
		if n.changed || n.daemon {
			report.Tasks = append(report.Tasks, n.TaskReport)
		}
		n.changed = false
	}
	r.sent = now
	return report, true
}

// send sends the reports that are due and the heartbeats, until ctx ends. It does not repeat a lost message, because
// the next one replaces it.
func (r *reports) send(ctx context.Context, to agent.API, ledger *agent.Ledger, log *slog.Logger) {
	ticker := time.NewTicker(minReportInterval)
	defer ticker.Stop()
	lastError := "" // why the last message was not sent; logged only when it changes
	sendMessage := func(data []byte, err error) {
		if err == nil {
			err = to.Message(ctx, data)
		}
		switch {
		case err == nil:
			lastError = ""
		case lastError != err.Error() && ctx.Err() == nil:
			lastError = err.Error()
			log.Warn("message to the scheduler not sent", "error", err)
		}
	}
	for lastHeartbeat := (time.Time{}); ; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if !ledger.Connected() {
			continue
		}
		if time.Since(lastHeartbeat) > wire.HeartbeatInterval-minReportInterval/2 {
			lastHeartbeat = time.Now()
			sendMessage(wire.EncodeHeartbeat(), nil)
		}
		if report, ok := r.due(time.Now()); ok {
			sendMessage(report.Encode())
		}
	}
}
