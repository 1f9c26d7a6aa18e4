package executor

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
)

// A setting is a limit, or the user that tasks run as. It can be changed when the executor is started, by an argument
// (--package-bytes=1GiB) or in the environment (ELASTICJOB_PACKAGE_BYTES). The argument takes precedence. Sizes are in
// bytes, or end in KiB, MiB or GiB. Durations are in Go's format, 90s or 1h30m.
//
//	package-download     4GiB    size of the file
//	package-bytes        16GiB   size of the unpacked files together
//	package-files        200000  number of entries, folders included
//	package-ratio        250     bytes unpacked per byte, checked above 64 MiB
//	package-path         1024    length of a path in bytes
//	package-depth        64      number of a path's components
//	package-first-byte   10s     how long a server may take until it has sent a package's first byte
//	package-check        30s     how long a kept package is used before its server is asked for a new one
//	package-stall        1m      how long a transfer may bring no byte
//	package-rate         1KiB    how much a transfer must bring per second, over each minute
//	package-fetch-time   1h      how long all tries of a download together may take
//	package-unpack-time  15m     how long unpacking may take
//	package-tries        4       how often a transfer is begun or resumed
//	processes            4096    a task's processes and threads; package supervisor says where the limit applies
//	output-file          32MiB   how much of the end of stdout and of stderr is kept at least
//	output-tasks         1000    number of ended tasks whose output is kept
//	output-bytes         1GiB    size of the kept output together
//	keep-failed          0       how many working folders of failed and timed-out tasks are kept
//	run-as                       the user, by name, uid or uid:gid, that tasks run as; see Config.RunAs
type setting struct {
	name string
	set  func(text string) error
}

func (c *Config) settings() []setting {
	return []setting{
		newSetting("package-download", &c.Package.Download, ParseSize),
		newSetting("package-bytes", &c.Package.Bytes, ParseSize),
		newSetting("package-files", &c.Package.Files, parseCount),
		newSetting("package-ratio", &c.Package.Ratio, ParseSize),
		newSetting("package-path", &c.Package.Name, parseCount),
		newSetting("package-depth", &c.Package.Depth, parseCount),
		newSetting("package-first-byte", &c.Package.FirstByte, parsePositive),
		newSetting("package-check", &c.Package.Check, parsePositive),
		newSetting("package-stall", &c.Package.Stall, parsePositive),
		newSetting("package-rate", &c.Package.Rate, ParseSize),
		newSetting("package-fetch-time", &c.Package.Transfer, parsePositive),
		newSetting("package-unpack-time", &c.Package.Unpacking, parsePositive),
		newSetting("package-tries", &c.Package.Tries, parseCount),
		newSetting("processes", &c.Processes, parseCount),
		newSetting("output-file", &c.Output.File, ParseSize),
		newSetting("output-tasks", &c.Output.Tasks, parseCount),
		newSetting("output-bytes", &c.Output.Bytes, ParseSize),
		newSetting("keep-failed", &c.KeepFailed, parseNumber),
		newSetting("run-as", &c.RunAs, parseUser),
	}
}

func newSetting[T any](name string, to *T, parse func(string) (T, error)) setting {
	return setting{name, func(text string) error {
		value, err := parse(text)
		if err == nil {
			*to = value
		}
		return err
	}}
}

// readEnvironment reads the settings from the environment and returns all errors in them.
func (c *Config) readEnvironment(getenv func(string) string) []error {
	var problems []error
	for _, s := range c.settings() {
		variable := "ELASTICJOB_" + strings.ToUpper(strings.ReplaceAll(s.name, "-", "_"))
		if text := getenv(variable); text != "" {
			if err := s.set(text); err != nil {
				problems = append(problems, fmt.Errorf("%s is %q: %w", variable, text, err))
			}
		}
	}
	return problems
}

// Arguments reads settings from the command line, as --name=value with the names of limits.go. The error is about the
// first argument that is wrong.
func (c *Config) Arguments(args []string) error {
	for _, arg := range args {
		text, ok := strings.CutPrefix(arg, "--")
		if !ok {
			return fmt.Errorf("argument %q is unknown; a setting looks like --package-bytes=16GiB", arg)
		}
		if err := c.Set(text); err != nil {
			return fmt.Errorf("argument %q: %w", arg, err)
		}
	}
	return nil
}

// Set sets one setting, given as name=value with the names of limits.go. The error says what is wrong with the name or
// the value; the caller must add where the setting was given.
func (c *Config) Set(text string) error {
	name, value, hasValue := strings.Cut(text, "=")
	settings := c.settings()
	i := slices.IndexFunc(settings, func(s setting) bool { return s.name == name })
	switch {
	case i < 0:
		names := make([]string, len(settings))
		for i, s := range settings {
			names[i] = s.name
		}
		return fmt.Errorf("unknown; known are %s", strings.Join(names, ", "))
	case !hasValue:
		return fmt.Errorf("it has no value: write %s=…", name)
	}
	return settings[i].set(value)
}

// ParseSize parses a positive number of bytes, such as 1048576, 64MiB or 1GiB.
func ParseSize(text string) (int64, error) {
	unit := int64(1)
	digits := text
	for i, name := range []string{"KiB", "MiB", "GiB"} {
		if before, ok := strings.CutSuffix(text, name); ok {
			digits, unit = before, 1<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/unit {
		return 0, errors.New("must be a positive number of bytes, such as 1048576 or 64MiB")
	}
	return n * unit, nil
}

func parseCount(text string) (int, error) {
	n, err := parseNumber(text)
	if err != nil || n == 0 {
		return 0, errors.New("must be a positive whole number")
	}
	return n, nil
}

// parseNumber parses a number that is not negative.
func parseNumber(text string) (int, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return 0, errors.New("must be a whole number, 0 or more")
	}
	return int(n), nil
}

func parseUser(text string) (string, error) {
	if _, ok := isolation.ParseIDs(text); !ok && (text == "" || strings.ContainsAny(text, " \t\n:,")) {
		return "", errors.New("must be a user's name, uid or uid:gid")
	}
	return text, nil
}

func parsePositive(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, errors.New("must be a duration such as 90s or 1h30m")
	}
	return d, nil
}
