package settings

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings/commandline"
	"github.com/elasticjob-go/elasticjob/internal/spelling"
)

// refuseEmptyVariables returns an error for each variable of this program that is set to an empty value, even if a
// flag overrides it.
func refuseEmptyVariables(env, ours map[string]string) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Values(ours)) {
		if value, given := env[name]; given && value == "" {
			errs = append(errs, commandline.IsEmpty(name))
		}
	}
	return errors.Join(errs...)
}

// setter sets a flag that the command line has not set. where is the source of the value.
type setter func(flag, value, where string) error

// fromEnvironment sets the flags that the command line does not contain, and notes variables whose names look like
// misspelt ones of this program.
func fromEnvironment(env, ours map[string]string, r *report, set setter) {
	for _, flag := range slices.Sorted(maps.Keys(ours)) {
		name := ours[flag]
		value, ok := env[name]
		if !ok {
			continue
		}
		if err := set(flag, value, name); err != nil {
			r.Add("%s=%q: %w", name, value, err)
		}
	}
	r.notes = append(r.notes, misspelt(env, slices.Sorted(maps.Values(ours)))...)
}

// unrelated are variables with this program's prefix that it does not read: those of container images, tasks and
// executors.
var unrelated = []string{
	"HELP", "VERSION",
	"SHARDING_CONTEXT", "SHARDING_CONTEXT_FILE", "SHARDING_PARAMETER_FILE", "JOB_PARAMETER_FILE",
	"JOB_NAME", "TASK_ID", "SHARDING_ITEM", "SHARDING_PARAMETER", "SHARDING_TOTAL_COUNT",
	"JOB_PARAMETER", "EXECUTION_SOURCE", "FIRE_TIME", "EXECUTION_ID", "ATTEMPT", "MESOS_CA", "AGENT_HOSTNAME",
}

// misspelt returns a note for each variable whose name is similar to a known one.
func misspelt(env map[string]string, ours []string) []string {
	bare := make([]string, len(ours))
	for i, name := range ours {
		bare[i] = strings.TrimPrefix(name, EnvPrefix)
	}
	var notes []string
	for name := range env {
		rest, prefixed := strings.CutPrefix(name, EnvPrefix)
		if !prefixed || slices.Contains(bare, rest) || slices.Contains(unrelated, rest) {
			continue
		}
		if near := spelling.Nearest(rest, bare); near != "" {
			notes = append(notes, fmt.Sprintf("the environment variable %s has no effect; the nearest that has one is %s%s", name, EnvPrefix, near))
		}
	}
	slices.Sort(notes)
	return notes
}
