package documents

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/executor/pack"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// TestTheConsolesNumbers compares the numbers in the console's help texts with the limits in the code.
func TestTheConsolesNumbers(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../web/static/js/lib/limits.js")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]int64{}
	for _, line := range regexp.MustCompile(`(?m)^  (\w+): ([\d_]+),$`).FindAllStringSubmatch(string(text), -1) {
		if said[line[1]], err = strconv.ParseInt(strings.ReplaceAll(line[2], "_", ""), 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	options := step.DefaultOptions()
	held := map[string]int64{
		"name": int64(app.Hints()["appName"].MaxLength), "shards": jobs.MaxShards, "retries": jobs.MaxRetries,
		"queuedFires": int64(options.MaxQueuedFires), "password": auth.MinPassword,
	}
	for name, long := range map[string]time.Duration{
		"late": options.MaxLateness, "backoff": options.MinBackoff, "backoffMost": options.MaxBackoff, "packageCheck": pack.Defaults().Check,
	} {
		held[name] = long.Milliseconds()
	}
	if diff := cmp.Diff(held, said); diff != "" {
		t.Errorf("the numbers that hold, and those of limits.js:\n%s", diff)
	}
}
