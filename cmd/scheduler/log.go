package main

import (
	"context"
	"io"
	"log/slog"
	"os"
)

func parseLevel(text string) (slog.Level, error) {
	var level slog.Level
	err := level.UnmarshalText([]byte(text))
	return level, err
}

// newLogger writes to w: text on a terminal, JSON otherwise, unless a format is given.
func newLogger(c config, w *os.File) *slog.Logger {
	level, err := parseLevel(c.logLevel)
	if err != nil {
		level = slog.LevelInfo // refused by check already
	}
	return slog.New(newHandler(c.logFormat, isTerminal(w), w, level))
}

func newHandler(format string, terminal bool, w io.Writer, level slog.Level) slog.Handler {
	opts := &slog.HandlerOptions{Level: level, ReplaceAttr: readable}
	if format == "text" || format == "auto" && terminal {
		return slog.NewTextHandler(w, opts)
	}
	return slog.NewJSONHandler(w, opts)
}

// logFormat is how newLogger writes to w.
func logFormat(c config, w *os.File) string {
	if c.logFormat == "auto" && !isTerminal(w) {
		return "json"
	}
	if c.logFormat == "auto" {
		return "text"
	}
	return c.logFormat
}

// quieter writes what is at INFO at DEBUG: what a part does is worth a line for those who look into it, and in the way of
// those who follow the whole.
type quieter struct{ slog.Handler }

func (q quieter) Enabled(ctx context.Context, level slog.Level) bool {
	return q.Handler.Enabled(ctx, quiet(level))
}

func (q quieter) Handle(ctx context.Context, r slog.Record) error {
	r.Level = quiet(r.Level)
	return q.Handler.Handle(ctx, r)
}

func (q quieter) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quieter{q.Handler.WithAttrs(attrs)}
}
func (q quieter) WithGroup(name string) slog.Handler { return quieter{q.Handler.WithGroup(name)} }

func quiet(level slog.Level) slog.Level {
	if level >= slog.LevelInfo && level < slog.LevelWarn {
		return slog.LevelDebug
	}
	return level
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// readable writes durations as text, "10s", also in JSON.
func readable(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}
