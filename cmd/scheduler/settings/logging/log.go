// Package logging configures the logs of the server and its commands.
package logging

import (
	"context"
	"io"
	"log/slog"
	"os"
	"slices"

	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings/commandline"
)

// Options are the settings of a command's log.
type Options struct {
	// Level is debug, info, warn or error. Format is text, json or auto.
	Level, Format string
}

// AddFlags defines the flags.
func (o *Options) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Level, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&o.Format, "log-format", "auto", "text, json, or auto: text on a terminal, json otherwise")
}

// Check adds an error for each invalid value.
func (o Options) Check(errs *commandline.Errors) {
	err := new(slog.Level).UnmarshalText([]byte(o.Level))
	errs.Unless(err == nil, "--log-level %q: must be debug, info, warn or error", o.Level)
	errs.Unless(slices.Contains([]string{"auto", "text", "json"}, o.Format),
		"--log-format %q: must be text, json or auto", o.Format)
}

// Logger returns a logger that writes to w, in the format that FormatOn returns.
func (o Options) Logger(w *os.File) *slog.Logger {
	var level slog.Level                     // INFO
	_ = level.UnmarshalText([]byte(o.Level)) // Check has validated it
	return slog.New(newHandler(o.FormatOn(w), w, level))
}

// FormatOn returns the format of the log on w: text or json. The format auto stands for text on a terminal, and for
// json otherwise.
func (o Options) FormatOn(w *os.File) string {
	switch {
	case o.Format != "auto":
		return o.Format
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

// Quieter returns a logger that writes records of level INFO with level DEBUG. It is for a part of the program whose
// normal operation is of interest only when that part is examined, such as the cluster of --local.
func Quieter(log *slog.Logger) *slog.Logger { return slog.New(quieter{log.Handler()}) }

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

// readable returns the attribute. It converts a duration into text such as "10s", because JSON would have a number.
func readable(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}
