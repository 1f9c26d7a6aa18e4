package jobs

import (
	"strconv"

	"github.com/elasticjob-go/elasticjob/document"
)

// Limits of a job's times, in seconds.
const (
	MaxTimeout      = 365 * 24 * 60 * 60
	MaxRetryBackoff = 24 * 60 * 60
	MaxKillGrace    = 60 * 60
)

// checkLimits is about how long and how often a shard may run, and how it is ended.
func (c Config) checkLimits() (bad document.Violations) {
	for _, f := range []struct {
		field       string
		value, most int
	}{
		{"timeoutSeconds", c.TimeoutSeconds, MaxTimeout},
		{"maxRetries", c.MaxRetries, MaxRetries},
		{"retryBackoffSeconds", c.RetryBackoffSeconds, MaxRetryBackoff},
		{"killGraceSeconds", c.KillGraceSeconds, MaxKillGrace},
	} {
		if f.value < 0 || f.value > f.most {
			bad = append(bad, document.Violate(f.field, strconv.Itoa(f.value), "must be from 0 to %d", f.most))
		}
	}
	return bad
}
