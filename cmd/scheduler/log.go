package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"slices"

	"github.com/spf13/pflag"
)

// logging is how a command logs.
type logging struct{ level, format string }

func (l *logging) flags(f *pflag.FlagSet) {
	f.StringVar(&l.level, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&l.format, "log-format", "auto", "text, json, or auto: text on a terminal, json otherwise")
}

func (l logging) check(bad *complaints) {
	err := new(slog.Level).UnmarshalText([]byte(l.level))
	bad.unless(err == nil, "--log-level %q: want debug, info, warn or error", l.level)
	bad.unless(slices.Contains([]string{"auto", "text", "json"}, l.format), "--log-format %q: want text, json or auto",
		l.format)
}

// logger writes to w: text on a terminal, JSON otherwise, unless a format is given.
func (l logging) logger(w *os.File) *slog.Logger {
	var level slog.Level                     // INFO
	_ = level.UnmarshalText([]byte(l.level)) // refused by check
	return slog.New(newHandler(l.formatOn(w), w, level))
}

// formatOn is the format that logger writes to w.
func (l logging) formatOn(w *os.File) string {
	switch {
	case l.format != "auto":
		return l.format
	case isTerminal(w):
		return "text"
	}
	return "json"
}

func newHandler(format string, w io.Writer, level slog.Level) slog.Handler {
	opts := &slog.HandlerOptions{Level: level, ReplaceAttr: readable}
	if format == "text" {
		return slog.NewTextHandler(w, opts)
	}
	return slog.NewJSONHandler(w, opts)
}

// quieter writes what is at INFO at DEBUG: what a part does is worth a line for those who look into it, and in the way
// of those who follow the whole.
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
