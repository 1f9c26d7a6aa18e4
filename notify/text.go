package notify

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
)

// text returns the text for people, of at most most bytes. Its first line is the original's.
func text(n notifications.Notification, most int) string {
	for causes := 4000; causes > 20; causes /= 2 {
		if t := withCauses(n, causes); len(t) <= most {
			return t
		}
	}
	return cut(withCauses(n, 20), most)
}

// withCauses returns the text with at most most bytes of each cause.
func withCauses(n notifications.Notification, most int) string {
	var b strings.Builder
	for i, s := range n.Shards {
		cause := cut(cmp.Or(s.Cause.String(), "unknown cause"), most)
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
		fmt.Fprintf(&b, "Further failures of this job since the last message: %d.\n", n.Further)
	}
	return b.String()
}

func onAgent(s notifications.FailedShard) string {
	if s.Agent == "" {
		return ""
	}
	return " on agent " + s.Agent
}

// cut shortens a long text to its beginning and its end, without splitting characters.
func cut(text string, most int) string {
	const gap = "…"
	if len(text) <= most {
		return text
	}
	head := (most - len(gap)) / 3
	tail := most - len(gap) - head
	return strings.ToValidUTF8(text[:head], "") + gap + strings.ToValidUTF8(text[len(text)-tail:], "")
}
