package cron_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/jobs/cron"
)

func TestClockChanges(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, expr, zone, after string
		want                    []string
	}{
		{
			"every hour fires in both passes", "0 30 * * * ?", "America/New_York", "2026-11-01T00:30:00-04:00",
			[]string{"2026-11-01T01:30:00-04:00", "2026-11-01T01:30:00-05:00", "2026-11-01T02:30:00-05:00"},
		},
		{
			"*/1 is every hour", "0 30 */1 * * ?", "America/New_York", "2026-11-01T00:30:00-04:00",
			[]string{"2026-11-01T01:30:00-04:00", "2026-11-01T01:30:00-05:00"},
		},
		{
			"0/1 is every hour", "0 30 0/1 * * ?", "America/New_York", "2026-11-01T00:30:00-04:00",
			[]string{"2026-11-01T01:30:00-04:00", "2026-11-01T01:30:00-05:00"},
		},
		{
			"0-23 fires in the second pass only", "0 30 0-23 * * ?", "America/New_York", "2026-11-01T00:30:00-04:00",
			[]string{"2026-11-01T01:30:00-05:00", "2026-11-01T02:30:00-05:00"},
		},
		{
			"one hour fires in the second pass only", "0 30 1 * * ?", "America/New_York", "2026-10-31T12:00:00-04:00",
			[]string{"2026-11-01T01:30:00-05:00", "2026-11-02T01:30:00-05:00"},
		},
		{
			"the second pass follows an instant of the first pass", "0 30 1 * * ?", "America/New_York",
			"2026-11-01T01:45:00-04:00",
			[]string{"2026-11-01T01:30:00-05:00"},
		},
		{
			"a skipped time does not fire", "0 30 2 * * ?", "America/New_York", "2026-03-07T00:00:00-05:00",
			[]string{"2026-03-07T02:30:00-05:00", "2026-03-09T02:30:00-04:00"},
		},
		{
			"every half hour continues after a gap", "0 0/30 * * * ?", "America/New_York", "2026-03-08T01:00:00-05:00",
			[]string{"2026-03-08T01:30:00-05:00", "2026-03-08T03:00:00-04:00"},
		},
		{
			"a time that is always skipped never fires", "0 30 2 ? 3 1#2 2007-2100", "America/New_York", "2026-03-08T01:00:00-05:00",
			[]string{"never"},
		},
		{
			"half an hour repeated, every hour", "0 45 * * * ?", "Australia/Lord_Howe", "2026-04-05T01:00:00+11:00",
			[]string{"2026-04-05T01:45:00+11:00", "2026-04-05T01:45:00+10:30", "2026-04-05T02:45:00+10:30"},
		},
		{
			"half an hour repeated, one hour", "0 0/15 1 * * ?", "Australia/Lord_Howe", "2026-04-05T00:59:00+11:00",
			[]string{
				"2026-04-05T01:00:00+11:00", "2026-04-05T01:15:00+11:00",
				"2026-04-05T01:30:00+10:30", "2026-04-05T01:45:00+10:30", "2026-04-06T01:00:00+10:30",
			},
		},
		{
			"half an hour skipped", "0 0/15 2 * * ?", "Australia/Lord_Howe", "2026-10-04T01:00:00+10:30",
			[]string{"2026-10-04T02:30:00+11:00", "2026-10-04T02:45:00+11:00", "2026-10-05T02:00:00+11:00"},
		},
		{
			"a day skipped", "0 0 12 * * ?", "Pacific/Apia", "2011-12-28T12:00:00-10:00",
			[]string{"2011-12-29T12:00:00-10:00", "2011-12-31T12:00:00+14:00"},
		},
		{
			"only on the skipped day", "0 0 12 30 12 ? 2011-2012", "Pacific/Apia", "2011-01-01T12:00:00-10:00",
			[]string{"2012-12-30T12:00:00+14:00", "never"},
		},
		{
			"midnight skipped", "0 0 0 * * ?", "Africa/Cairo", "2026-04-23T00:00:00+02:00",
			[]string{"2026-04-25T00:00:00+03:00"},
		},
		{
			"the hour before midnight repeated", "0 30 23 * * ?", "Africa/Cairo", "2026-10-28T23:30:00+03:00",
			[]string{"2026-10-29T23:30:00+02:00", "2026-10-30T23:30:00+02:00"},
		},
		{
			"midnight skipped in the south", "0 0 0 * * ?", "America/Sao_Paulo", "2018-11-03T00:00:00-03:00",
			[]string{"2018-11-05T00:00:00-02:00"},
		},
		{
			"a change just after midnight repeats two dates", "30 0 * * * ?", "America/St_Johns",
			"2010-11-06T23:59:00-02:30",
			[]string{
				"2010-11-07T00:00:30-02:30", "2010-11-07T00:00:30-03:30", "2010-11-07T01:00:30-03:30",
			},
		},
		{
			"the date before is repeated", "0 30 23 * * ?", "America/St_Johns", "2010-11-06T00:00:00-02:30",
			[]string{"2010-11-06T23:30:00-03:30", "2010-11-07T23:30:00-03:30"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := cron.Parse(tt.expr, zone(t, tt.zone))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, nextOf(t, s, tt.after, len(tt.want))); diff != "" {
				t.Errorf("%q in %s after %s (-want +got):\n%s", tt.expr, tt.zone, tt.after, diff)
			}
		})
	}
}
