package api_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/scheduler"
)

// withFaults is a brain that has found documents which can't be used.
type withFaults struct {
	*brain
	found []scheduler.FaultyView
}

func (b withFaults) FaultyDocuments(context.Context) ([]scheduler.FaultyView, error) {
	return b.found, nil
}

// FaultyDocuments finds none.
func (b *brain) FaultyDocuments(context.Context) ([]scheduler.FaultyView, error) { return nil, nil }

func TestD15FaultyDocumentsAreListed(t *testing.T) {
	t.Parallel()
	found := []scheduler.FaultyView{{Path: "/config/job/a", Kind: "job", Name: "a", Reason: "its jobName is \"b\"", Since: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC), LastGood: true}}
	for _, test := range []struct {
		found []scheduler.FaultyView
		want  string
	}{
		{nil, "[]"},
		{found, `[{"path":"/config/job/a","kind":"job","name":"a","reason":"its jobName is \"b\"","since":"2026-05-01T12:00:00Z","lastGood":true}]`},
	} {
		server := start(t, api.Options{Scheduler: withFaults{newBrain(), test.found}, Logs: &files{}})
		if _, body := call(t, server, "GET", "/api/operate/faulty", ""); strings.TrimSpace(body) != test.want {
			t.Errorf("got %s\nwant %s", body, test.want)
		}
	}
}
