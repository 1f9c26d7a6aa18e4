// Package keep decides which pods of ended tasks stay in Kubernetes, so that their output can be read, and deletes the
// others.
package keep

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Rules limit which ended runs are kept: by the number of each job's runs, by the number of all jobs' pods, and by age.
type Rules struct {
	// Finished and Failed limit the runs of each job. A run with an attempt that did not finish counts as failed, as
	// soon as that attempt has ended.
	Finished, Failed int
	// Pods limits the pods of all jobs together, because each one uses disk space on its node and memory in the API
	// server.
	Pods int
	// For is the maximum age, counted from the end of a run's last shard.
	For time.Duration
}

// Default are the rules if none are configured. For a job that fails each minute they keep the failures of more than
// an hour.
const Default = "finished=10,failed=100,pods=2000,for=24h"

const (
	maxRuns = 1000
	maxPods = 10000
	maxFor  = 30 * 24 * time.Hour
)

// Parse parses rules in the form of Default. A missing part has its value in Default. The error lists all violations.
func Parse(text string) (Rules, error) {
	r := Rules{Finished: 10, Failed: 100, Pods: 2000, For: 24 * time.Hour}
	var errs []error
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		var err error
		switch name {
		case "finished":
			r.Finished, err = parseNumber(value, maxRuns, "runs of each job")
		case "failed":
			r.Failed, err = parseNumber(value, maxRuns, "runs of each job")
		case "pods":
			r.Pods, err = parseNumber(value, maxPods, "pods of all jobs")
		case "for":
			r.For, err = parseFor(value)
		default:
			err = errors.New("unknown; known are finished, failed, pods, for")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%q: %w", part, err))
		}
	}
	return r, errors.Join(errs...)
}

func parseNumber(value string, limit int, what string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > limit {
		return 0, fmt.Errorf("must be 0 to %d %s", limit, what)
	}
	return n, nil
}

func parseFor(value string) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 || d > maxFor {
		return 0, errors.New("must be 0s to 720h, such as 30m or 12h")
	}
	return d, nil
}
