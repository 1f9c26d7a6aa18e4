package main

import (
	"strings"
	"testing"
)

// TestMistakesGetSuggestions: flags and commands under the names that other schedulers give them.
func TestMistakesGetSuggestions(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"job register x --grace 5":  "unknown flag: --grace; did you mean --kill-grace?\n",
		"job register x --shard 3":  "unknown flag: --shard; did you mean --shards?\n",
		"job register x --backoff":  "unknown flag: --backoff; did you mean --retry-backoff?\n",
		"job register x --nonsense": "unknown flag: --nonsense\n",
		"job register x -z":         "unknown shorthand flag: 'z' in -z\n",
		"job run x":                 `elasticjob job has no command "run"; did you mean job trigger?`,
		"job start x":               `elasticjob job has no command "start"; did you mean job trigger?`,
		"job log x":                 `elasticjob job has no command "log"; did you mean elasticjob logs JOB?`,
		"job status x":              `elasticjob job has no command "status"; did you mean job explain?`,
		"trigger x":                 `did you mean job trigger?`,
		"job triger x":              `did you mean trigger?`,
	} {
		status, _, said := newSession(t).run("", words(line)...)
		if status != statusUsage || !strings.Contains(said, want) {
			t.Errorf("%s: status %d: %s, want %s", line, status, said, want)
		}
	}
}
