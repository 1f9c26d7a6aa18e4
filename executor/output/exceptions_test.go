package output

import (
	"fmt"
	"strings"
	"testing"
)

// The last exception is in a cause, however many lines the program writes after it.
func TestTheLastExceptionIsKept(t *testing.T) {
	t.Parallel()
	var noise strings.Builder
	for i := range 100 {
		fmt.Fprintf(&noise, "WARNING root pool connection %d is closed late\n", i)
	}
	const (
		chain = "ValueError: bad row (rows.py:7)\n\nThe above exception was the direct cause of the following " +
			"exception:\n\nRowError: row 17 (rows.py:9)"
		java = "IllegalStateException: cannot load bills (BillingJob.java:13)\nCaused by: java.net.ConnectException: " +
			"Connection refused (BillingJob.java:17)"
	)
	for name, test := range map[string]struct{ text, begins, ends string }{
		"python":               {"loading\n" + chain + "\n" + noise.String(), chain + "\n… ", "connection 99 is closed late"},
		"java":                 {"loading\n" + java + "\n" + noise.String(), java + "\n… ", "connection 99 is closed late"},
		"nothing behind":       {noise.String() + chain, "…", "RowError: row 17 (rows.py:9)"},
		"no exception":         {noise.String(), "…", "connection 99 is closed late"},
		"all of it fits":       {chain + "\nbye", chain, "bye"},
		"an endless message":   {"RowError: " + strings.Repeat("x", 5000) + "\n" + noise.String(), "…xxx", "connection 99 is closed late"},
		"one line behind":      {"RowError: row\n" + strings.Repeat("y", 5000), "RowError: row\n…yyy", "yyy"},
		"an earlier exception": {"RowError: a\n" + noise.String() + chain + "\n" + noise.String(), chain, "connection 99 is closed late"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := cutAfterException(strings.TrimSpace(test.text), CauseLength)
			if !strings.HasPrefix(got, test.begins) || !strings.HasSuffix(got, test.ends) || len(got) > CauseLength+10 {
				t.Errorf("%d bytes: %s", len(got), got)
			}
		})
	}
}
