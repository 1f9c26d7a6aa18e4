package notify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
)

// maxNamed is the greatest number of other jobs, and of notices, that a text lists. The text counts the remaining ones.
const maxNamed = 200

// minCause is the smallest limit for the bytes of each cause.
const minCause = 20

// text returns the text of a message, of at most limit bytes. If a run has failed, its first line is the same as in
// ElasticJob-Cloud's messages. If the text is too long, it first gets shorter causes, then fewer notices and names of
// other jobs.
func text(n notifications.Notification, limit int) string {
	for maxCause := 4000; maxCause > minCause; maxCause /= 2 {
		if t := format(n, maxCause, maxNamed); len(t) <= limit {
			return t
		}
	}
	for named := maxNamed; named >= 0; named -= 1 + named/10 {
		if t := format(n, minCause, named); len(t) <= limit {
			return t
		}
	}
	return cut(format(n, minCause, 0), limit)
}

// format returns the text with at most maxCause bytes of each cause. named is the maximum number of listed notices, and
// of listed other jobs.
func format(n notifications.Notification, maxCause, named int) string {
	var b strings.Builder
	for i, s := range n.Shards {
		cause := cut(cmp.Or(s.Cause.String(), "unknown cause"), maxCause)
		if i == 0 {
			fmt.Fprintf(&b, "Job '%s' exception occur in job processing, caused by %s\n", n.Job.JobName, cause)
			fmt.Fprintf(&b, "Execution %s, fired at %s.\n", n.Execution, n.Fire.UTC().Format(time.RFC3339))
			fmt.Fprintf(&b, "Item %d%s: %s, as above.\n", s.Item, onAgent(s), s.State)
			continue
		}
		fmt.Fprintf(&b, "Item %d%s: %s, %s\n", s.Item, onAgent(s), s.State, cause)
	}
	if more := n.FailedShards - len(n.Shards); more > 0 {
		fmt.Fprintf(&b, "And %d more of its shards.\n", more)
	}
	if n.Further > 0 {
		fmt.Fprintf(&b, "Further failures of this job since the last message: %s.\n", further(n.Report))
	}
	writeNotices(&b, n, named)
	writeOthers(&b, n, maxCause, named)
	return b.String()
}

// writeNotices writes a line for each of the last notices of all jobs, up to named, and the number of the others.
func writeNotices(b *strings.Builder, n notifications.Notification, named int) {
	notices, omitted := n.Notices, n.Omitted
	for _, o := range n.Others {
		notices, omitted = slices.Concat(notices, o.Notices), omitted+o.Omitted
	}
	if left := len(notices) - named; left > 0 {
		notices, omitted = notices[left:], omitted+left
	}
	if omitted > 0 {
		fmt.Fprintf(b, "ElasticJob: %d notices are left out here; the log has them.\n", omitted)
	}
	for _, notice := range notices {
		fmt.Fprintf(b, "ElasticJob at %s: %s.\n", formatTime(notice.At), notice.Why)
	}
}

// writeOthers writes the number of the other jobs that failed, and a line for each of the first of them, up to named.
func writeOthers(b *strings.Builder, n notifications.Notification, maxCause, named int) {
	var others []notifications.Other
	failures, first, last := 0, time.Time{}, time.Time{}
	for _, o := range n.Others {
		if o.Failures() == 0 {
			continue
		}
		others = append(others, o)
		failures += o.Failures()
		if first.IsZero() || o.First.Before(first) {
			first = o.First
		}
		if o.Last.After(last) {
			last = o.Last
		}
	}
	if len(others) == 0 {
		return
	}
	fmt.Fprintf(b, "Other jobs that failed: %d, with %d failures, the first at %s, the last at %s:\n", len(others),
		failures, formatTime(first), formatTime(last))
	for i, o := range others {
		if i == named {
			fmt.Fprintf(b, "and %d more jobs\n", len(others)-named)
			break
		}
		b.WriteString(o.Job)
		if maxCause < 250 || len(o.Shards) == 0 { // without causes, so that more names have room
			if o.Further > 0 {
				fmt.Fprintf(b, " (%d failures)", 1+o.Further)
			}
			b.WriteByte('\n')
			continue
		}
		fmt.Fprintf(b, ": %s, item %d %s, %s", o.Execution, o.Shards[0].Item, o.Shards[0].State,
			cut(cmp.Or(o.Shards[0].Cause.String(), "unknown cause"), maxCause/10))
		if o.Further > 0 {
			fmt.Fprintf(b, " (further failures: %s)", further(o.Report))
		}
		b.WriteByte('\n')
	}
}

// further returns the number and times of the failures of a job that a message only counts.
func further(r notifications.Report) string {
	return fmt.Sprintf("%d, the first at %s, the last at %s", r.Further, formatTime(r.First), formatTime(r.Last))
}

func formatTime(t time.Time) string { return t.UTC().Truncate(time.Second).Format(time.RFC3339) }

func onAgent(s notifications.FailedShard) string {
	if s.Agent == "" {
		return ""
	}
	return " on agent " + s.Agent
}

// cut shortens a text of more than limit bytes: the first third is the text's beginning, the rest its end. It does not
// split characters.
func cut(text string, limit int) string {
	const gap = "…"
	if len(text) <= limit {
		return text
	}
	head := (limit - len(gap)) / 3
	tail := limit - len(gap) - head
	return strings.ToValidUTF8(text[:head], "") + gap + strings.ToValidUTF8(text[len(text)-tail:], "")
}
