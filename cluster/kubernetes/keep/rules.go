// Package keep says which pods of ended tasks stay in Kubernetes, so that their output can be read, and deletes the
// others.
package keep

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Rules are how many ended runs of each job are kept, with the pods of all their shards, how many pods of all jobs at
// most, and for how long.
type Rules struct {
	// Finished and Failed are runs of each job. A run of which one attempt did not finish counts as failed, as soon as
	// that has ended.
	Finished, Failed int
	// Pods bounds the pods of all jobs: each takes the room of its output on its node, and some in the API server.
	Pods int
	// For counts from the end of a run's last shard.
	For time.Duration
}

// Default is what is kept where nobody has said it: of a job that fails each minute the failures of an hour and more.
const Default = "finished=10,failed=100,pods=2000,for=24h"

const (
	mostRuns = 1000
	mostPods = 10000
	mostFor  = 30 * 24 * time.Hour
)

// Parse reads rules as Default is written. What is left out is as there. Its error names all that is wrong.
func Parse(text string) (Rules, error) {
	r := Rules{Finished: 10, Failed: 100, Pods: 2000, For: 24 * time.Hour}
	var errs []error
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		var err error
		switch name {
		case "finished":
			r.Finished, err = parseNumber(value, mostRuns, "runs of each job")
		case "failed":
			r.Failed, err = parseNumber(value, mostRuns, "runs of each job")
		case "pods":
			r.Pods, err = parseNumber(value, mostPods, "pods of all jobs")
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

func parseNumber(value string, most int, what string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("want 0 to %d %s", most, what)
	}
	return n, nil
}

func parseFor(value string) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 || d > mostFor {
		return 0, errors.New("want 0s to 720h, such as 30m or 12h")
	}
	return d, nil
}
