package main

import (
	"io"
	"log/slog"
	"os"
)

func parseLevel(text string) (slog.Level, error) {
	var level slog.Level
	err := level.UnmarshalText([]byte(text))
	return level, err
}

// newLogger writes to w: text on a terminal, JSON otherwise, unless told.
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
