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
// flag overrides it. variables are the variables of this program, by flag.
func refuseEmptyVariables(env, variables map[string]string) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Values(variables)) {
		if value, isSet := env[name]; isSet && value == "" {
			errs = append(errs, commandline.EmptyError(name))
		}
	}
	return errors.Join(errs...)
}

// setter sets a flag, unless a source of higher precedence has set it.
type setter func(flag, value, source string) error

// fromEnvironment sets flags from the environment. It adds a note for each variable whose name looks like a misspelt
// name of a variable of this program.
func fromEnvironment(env, variables map[string]string, r *report, set setter) {
	for _, flag := range slices.Sorted(maps.Keys(variables)) {
		name := variables[flag]
		value, ok := env[name]
		if !ok {
			continue
		}
		if err := set(flag, value, name); err != nil {
			r.Add("%s=%q: %w", name, value, err)
		}
	}
	r.notes = append(r.notes, misspelt(env, slices.Sorted(maps.Values(variables)))...)
}

// unrelated are variables that have this program's prefix but are not read by it: those of container images, tasks and
// executors.
var unrelated = []string{
	"HELP", "VERSION",
	"SHARDING_CONTEXT", "SHARDING_CONTEXT_FILE", "SHARDING_PARAMETER_FILE", "JOB_PARAMETER_FILE",
	"JOB_NAME", "TASK_ID", "SHARDING_ITEM", "SHARDING_PARAMETER", "SHARDING_TOTAL_COUNT",
	"JOB_PARAMETER", "EXECUTION_SOURCE", "FIRE_TIME", "EXECUTION_ID", "ATTEMPT", "MESOS_CA", "AGENT_HOSTNAME",
}

// misspelt returns a note for each variable in env whose name is similar to one of the names.
func misspelt(env map[string]string, names []string) []string {
	suffixes := make([]string, len(names)) // the names without the prefix
	for i, name := range names {
		suffixes[i] = strings.TrimPrefix(name, EnvPrefix)
	}
	var notes []string
	for name := range env {
		suffix, hasPrefix := strings.CutPrefix(name, EnvPrefix)
		if !hasPrefix || slices.Contains(suffixes, suffix) || slices.Contains(unrelated, suffix) {
			continue
		}
		if near := spelling.Nearest(suffix, suffixes); near != "" {
			notes = append(notes, fmt.Sprintf(
				"the environment variable %s has no effect; the nearest that has one is %s%s",
				name, EnvPrefix, near))
		}
	}
	slices.Sort(notes)
	return notes
}
