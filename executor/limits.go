package executor

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// limits reads the bounds that whoever describes the executor may put into its environment. Sizes
// are in bytes, or end in KiB, MiB or GiB; durations are as Go writes them, 90s or 1h30m. What isn't set has its default.
//
//	ELASTICJOB_PACKAGE_DOWNLOAD     4GiB    size of the file
//	ELASTICJOB_PACKAGE_BYTES        16GiB   size of all that is unpacked
//	ELASTICJOB_PACKAGE_FILES        200000  number of entries, folders included
//	ELASTICJOB_PACKAGE_RATIO        250     bytes unpacked per byte, looked at above 64 MiB
//	ELASTICJOB_PACKAGE_PATH         1024    length of a path in bytes
//	ELASTICJOB_PACKAGE_DEPTH        64      number of a path's components
//	ELASTICJOB_PACKAGE_STALL        1m      how long a transfer may bring nothing
//	ELASTICJOB_PACKAGE_FETCH_TIME   1h      how long a download may take, its tries together
//	ELASTICJOB_PACKAGE_UNPACK_TIME  15m     how long unpacking may take
//	ELASTICJOB_PACKAGE_TRIES        4       how often a transfer is begun or resumed
//	ELASTICJOB_OUTPUT_FILE          32MiB   size at which stdout and stderr are rotated
//	ELASTICJOB_OUTPUT_TASKS         1000    how many ended tasks' output is kept
//	ELASTICJOB_OUTPUT_BYTES         1GiB    how large that may be together
func (c *Config) limits(getenv func(string) string) []error {
	var problems []error
	read := func(name string, parse func(string) error) {
		if text := getenv("ELASTICJOB_" + name); text != "" {
			if err := parse(text); err != nil {
				problems = append(problems, fmt.Errorf("ELASTICJOB_%s is %q: %w", name, text, err))
			}
		}
	}
	size := func(name string, to *int64) {
		read(name, func(text string) error { return set(to, text, parseSize) })
	}
	count := func(name string, to *int) {
		read(name, func(text string) error { return set(to, text, parseCount) })
	}
	duration := func(name string, to *time.Duration) {
		read(name, func(text string) error { return set(to, text, parseWait) })
	}
	size("PACKAGE_DOWNLOAD", &c.Package.Download)
	size("PACKAGE_BYTES", &c.Package.Bytes)
	count("PACKAGE_FILES", &c.Package.Files)
	size("PACKAGE_RATIO", &c.Package.Ratio)
	count("PACKAGE_PATH", &c.Package.Name)
	count("PACKAGE_DEPTH", &c.Package.Depth)
	duration("PACKAGE_STALL", &c.Package.Stall)
	duration("PACKAGE_FETCH_TIME", &c.Package.Transfer)
	duration("PACKAGE_UNPACK_TIME", &c.Package.Unpacking)
	count("PACKAGE_TRIES", &c.Package.Tries)
	size("OUTPUT_FILE", &c.Output.File)
	count("OUTPUT_TASKS", &c.Output.Tasks)
	size("OUTPUT_BYTES", &c.Output.Bytes)
	return problems
}

func set[T any](to *T, text string, parse func(string) (T, error)) error {
	value, err := parse(text)
	if err == nil {
		*to = value
	}
	return err
}

// parseSize reads a positive number of bytes.
func parseSize(text string) (int64, error) {
	unit := int64(1)
	digits := text
	for i, name := range []string{"KiB", "MiB", "GiB"} {
		if before, ok := strings.CutSuffix(text, name); ok {
			digits, unit = before, 1<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/unit {
		return 0, errors.New("a size is a positive whole number like 1048576 or 64MiB")
	}
	return n * unit, nil
}

func parseCount(text string) (int, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n <= 0 {
		return 0, errors.New("a positive whole number is wanted")
	}
	return int(n), nil
}

func parseWait(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, errors.New("a duration looks like 90s or 1h30m")
	}
	return d, nil
}
