package commandline

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// TestExplainNamesTheValues: an error about a flag's value says what the flag accepts, not what the parser thinks.
func TestExplainNamesTheValues(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]string{
		"--bool=x":     `--bool "x": must be true or false`,
		"--int=1.5":    `--int "1.5": must be a whole number`,
		"--int64=x":    `--int64 "x": must be a whole number`,
		"--float=x":    `--float "x": must be a number`,
		"--duration=5": `--duration "5": must be a duration with its unit, such as 30s or 5m`,
		"--int=":       `--int is empty: give it a value, or leave it out`,
		"--durations":  `unknown flag: --durations; did you mean --duration?`,
	} {
		flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
		flags.Bool("bool", false, "")
		flags.Int("int", 0, "")
		flags.Int64("int64", 0, "")
		flags.Float64("float", 0, "")
		flags.Duration("duration", time.Second, "")
		if err := Explain(flags, flags.Parse([]string{flag})); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", flag, err, want)
		}
	}
}
