// Package keep says which pods of ended tasks stay in Kubernetes, so that their output can be read, and deletes the others.
package keep

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Rules are how many ended pods of each job are kept, and for how long at most.
type Rules struct {
	Finished, Failed int
	For              time.Duration
}

// Default is what is kept where nobody has said it.
const Default = "finished=3,failed=10,for=1h"

const (
	mostPods = 1000
	mostFor  = 30 * 24 * time.Hour
)

// Parse reads rules as Default is written. What is left out is as there. Its error names all that is wrong.
func Parse(text string) (Rules, error) {
	r := Rules{Finished: 3, Failed: 10, For: time.Hour}
	var errs []error
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		var err error
		switch name {
		case "finished":
			r.Finished, err = parseNumber(value)
		case "failed":
			r.Failed, err = parseNumber(value)
		case "for":
			r.For, err = parseFor(value)
		default:
			err = errors.New("unknown; known are finished, failed, for")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%q: %w", part, err))
		}
	}
	return r, errors.Join(errs...)
}

func parseNumber(value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > mostPods {
		return 0, fmt.Errorf("want 0 to %d pods of each job", mostPods)
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
