package limit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/limit"
	"github.com/elasticjob-go/elasticjob/auth"
)

// TestACallerHasAShareOfTheStreams: a caller may have a quarter of the streams, but at least four. A refusal says
// which limit is reached.
func TestACallerHasAShareOfTheStreams(t *testing.T) {
	t.Parallel()
	const all, own = "clients already follow events of this server", "the maximum for one caller"
	for _, test := range []struct {
		kind      auth.Kind
		most, has int
		why       string
	}{
		{auth.User, 1000, 250, own},
		{auth.Token, 40, 10, own},
		{auth.User, 5, 4, own},
		{auth.User, 2, 2, own},
		{auth.Machine, 40, 40, own}, // the only caller
	} {
		t.Run(fmt.Sprintf("%s of %d", test.kind, test.most), func(t *testing.T) {
			t.Parallel()
			s := limit.NewStreams("events")
			one := caller.Caller{Principal: auth.Principal{Kind: test.kind, Name: "one"}}
			var leave func()
			for i := range test.has {
				var err error
				if leave, err = s.Enter(one, test.most); err != nil {
					t.Fatalf("stream %d: %v", i, err)
				}
			}
			if _, err := s.Enter(one, test.most); err == nil || !strings.Contains(err.Error(), test.why) {
				t.Errorf("%v, want %q", err, test.why)
			}
			for i := test.has; i < test.most; i++ {
				if _, err := s.Enter(user(fmt.Sprint(i)), test.most); err != nil {
					t.Errorf("another caller: %v", err)
				}
			}
			last := user("last")
			if _, err := s.Enter(last, test.most); err == nil || !strings.Contains(err.Error(), all) {
				t.Errorf("%v, want %q", err, all)
			}
			leave()
			if _, err := s.Enter(last, test.most); err != nil {
				t.Errorf("after another stream has ended: %v", err)
			}
		})
	}
}

func user(name string) caller.Caller {
	return caller.Caller{Principal: auth.Principal{Kind: auth.User, Name: name}}
}
