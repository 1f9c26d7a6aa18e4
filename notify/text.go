package notify

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
)

// maxNamed is the greatest number of other jobs that a text names; the rest is counted.
const maxNamed = 200

// text returns the text for people, of at most limit bytes. Its first line is the original's.
func text(n notifications.Notification, limit int) string {
	for causes := 4000; causes > 20; causes /= 2 {
		if t := withCauses(n, causes, maxNamed); len(t) <= limit {
			return t
		}
	}
	for named := min(len(n.Others), maxNamed); named >= 0; named -= 1 + named/10 {
		if t := withCauses(n, 20, named); len(t) <= limit {
			return t
		}
	}
	return cut(withCauses(n, 20, 0), limit)
}

// withCauses returns the text with at most limit bytes of each cause, and the names of at most named other jobs.
func withCauses(n notifications.Notification, limit, named int) string {
	var b strings.Builder
	for i, s := range n.Shards {
		cause := cut(cmp.Or(s.Cause.String(), "unknown cause"), limit)
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
	if len(n.Others) == 0 {
		return b.String()
	}
	failures, first, last := 0, n.Others[0].First, n.Others[0].Last
	for _, o := range n.Others {
		failures += 1 + o.Further
		if o.First.Before(first) {
			first = o.First
		}
		if o.Last.After(last) {
			last = o.Last
		}
	}
	fmt.Fprintf(&b, "Other jobs that failed: %d, with %d failures, the first at %s, the last at %s:\n", len(n.Others),
		failures, clock(first), clock(last))
	for i, o := range n.Others {
		if i == named {
			fmt.Fprintf(&b, "and %d more jobs\n", len(n.Others)-named)
			break
		}
		b.WriteString(o.Job)
		if limit < 250 || len(o.Shards) == 0 { // as many names as possible
			if o.Further > 0 {
				fmt.Fprintf(&b, " (%d failures)", 1+o.Further)
			}
			b.WriteByte('\n')
			continue
		}
		fmt.Fprintf(&b, ": %s, item %d %s, %s", o.Execution, o.Shards[0].Item, o.Shards[0].State,
			cut(cmp.Or(o.Shards[0].Cause.String(), "unknown cause"), limit/10))
		if o.Further > 0 {
			fmt.Fprintf(&b, " (further failures: %s)", further(o.Report))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// further describes the failures of a job that a message only counts.
func further(r notifications.Report) string {
	return fmt.Sprintf("%d, the first at %s, the last at %s", r.Further, clock(r.First), clock(r.Last))
}

func clock(at time.Time) string { return at.UTC().Truncate(time.Second).Format(time.RFC3339) }

func onAgent(s notifications.FailedShard) string {
	if s.Agent == "" {
		return ""
	}
	return " on agent " + s.Agent
}

// cut shortens a long text to its beginning and its end, without splitting characters.
func cut(text string, limit int) string {
	const gap = "…"
	if len(text) <= limit {
		return text
	}
	head := (limit - len(gap)) / 3
	tail := limit - len(gap) - head
	return strings.ToValidUTF8(text[:head], "") + gap + strings.ToValidUTF8(text[len(text)-tail:], "")
}
