package scheduler

import (
	"context"
	"log/slog"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// noteLog writes notes to the log. Some kinds of notes can be made for every job at once: about fires that were missed
// or dropped, and messages that could not be sent. After a week without a leader there may be 100,000 of them. For each
// of these kinds noteLog writes at most one note a second, and then how many notes it has omitted.
type noteLog struct {
	log    *slog.Logger
	bursts map[step.NoteKind]*burst // by each of these kinds
}

// burst counts the notes of one kind since its last line.
type burst struct {
	at      time.Time // of the last line
	omitted int
}

// linesInterval is the minimum interval between two lines of a kind in bursts.
const linesInterval = time.Second

func newNoteLog(log *slog.Logger) *noteLog {
	return &noteLog{log: log, bursts: map[step.NoteKind]*burst{step.NoteFiresMissed: {}, step.NoteFireDropped: {},
		step.NoteNotification: {}}}
}

// write writes the notes of one step. now may be of any clock, because only differences matter. write must not be
// called concurrently.
func (l *noteLog) write(now time.Time, notes []step.Note) {
	for _, n := range notes {
		b := l.bursts[n.Kind]
		if b == nil {
			logNote(l.log, n)
			continue
		}
		if since := now.Sub(b.at); since >= 0 && since < linesInterval {
			b.omitted++
			continue
		}
		l.logOmitted(n.Kind, b)
		b.at = now
		logNote(l.log, n)
	}
	for kind, b := range l.bursts {
		if now.Sub(b.at) >= linesInterval {
			l.logOmitted(kind, b)
		}
	}
}

// logOmitted logs how many notes of a kind were omitted, if there are any.
func (l *noteLog) logOmitted(kind step.NoteKind, b *burst) {
	if b.omitted > 0 {
		l.log.Info(string(kind)+", more omitted", "count", b.omitted)
		b.omitted = 0
	}
}

// logNote writes a note as one log line.
func logNote(log *slog.Logger, n step.Note) {
	attrs := make([]any, 0, 8)
	for _, kv := range [][2]string{{"job", n.Job}, {"execution", n.Execution}, {"task", n.Task},
		{"detail", n.Text()}} {
		if kv[1] != "" {
			attrs = append(attrs, kv[0], kv[1])
		}
	}
	if n.Problem {
		log.Warn(string(n.Kind), attrs...)
		return
	}
	level := slog.LevelInfo
	switch n.Kind {
	case step.NoteTaskLaunched, step.NoteTaskEnded:
		level = slog.LevelDebug // their executions are logged
	case step.NoteSession:
		level = slog.LevelDebug // the driver logs it with more detail
	}
	log.Log(context.Background(), level, string(n.Kind), attrs...)
}
