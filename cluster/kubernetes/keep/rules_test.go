package keep_test

import (
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/keep"
)

func TestRulesAreRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]keep.Rules{
		keep.Default:                                {Finished: 10, Failed: 100, Pods: 2000, For: 24 * time.Hour},
		"finished=0":                                {Finished: 0, Failed: 100, Pods: 2000, For: 24 * time.Hour},
		"for=30m, failed=1000":                      {Finished: 10, Failed: 1000, Pods: 2000, For: 30 * time.Minute},
		"for=0s,failed=0,finished=0,pods=0":         {},
		"finished=1,failed=2,pods=10000,for=720h0s": {Finished: 1, Failed: 2, Pods: 10000, For: 720 * time.Hour},
	} {
		if got, err := keep.Parse(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
}

func TestAllThatIsWrongWithRulesIsNamed(t *testing.T) {
	t.Parallel()
	_, err := keep.Parse("finished=-1,failed=1001,pods=10001,for=721h,kept=1,")
	for _, part := range []string{`"finished=-1": must be 0 to 1000 runs of each job`,
		`"failed=1001": must be 0 to 1000`, `"pods=10001": must be 0 to 10000 pods`, `"for=721h": must be 0s to 720h`,
		`"kept=1": unknown; known are finished, failed, pods, for`, `"": unknown`} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %s", err, part)
		}
	}
}
