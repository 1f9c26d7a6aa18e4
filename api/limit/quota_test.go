package limit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/limit"
	"github.com/elasticjob-go/elasticjob/auth"
)

// TestQuotaOfACallerAndOfAll: a refusal says which of the two limits is reached, and a request
// that ends frees its place.
func TestQuotaOfACallerAndOfAll(t *testing.T) {
	t.Parallel()
	q := limit.NewQuota("running", "requests of a kind", time.Second)
	var (
		anna     = auth.Principal{Kind: auth.User, Name: "anna"}
		machine  = auth.Principal{Kind: auth.Token, Name: "anna"} // a token of the same name is another caller
		somebody = auth.Principal{Kind: auth.Machine}
	)
	enter := func(p auth.Principal, why string) func() {
		t.Helper()
		leave, err := q.Enter(caller.Caller{Principal: p})
		if why == "" && err != nil || why != "" && (err == nil || !strings.Contains(err.Error(), why)) {
			t.Errorf("%s %q: %v, want %q", p.Kind, p.Name, err, why)
		}
		return leave
	}
	leaveAnna := enter(anna, "")
	enter(anna, "another request of yours is in progress")
	leaveMachine := enter(machine, "")
	enter(somebody, "two requests of other callers are in progress")
	leaveAnna()
	enter(somebody, "")
	enter(anna, "two requests of other callers")
	leaveMachine()
	enter(anna, "")
}
