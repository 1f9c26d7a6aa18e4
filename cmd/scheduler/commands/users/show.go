package users

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/elasticjob-go/elasticjob/auth"
)

// show prints the rows as a table or, if asJSON is true, the list as JSON.
func show[T any](out io.Writer, asJSON bool, list []T, rows [][]string) error {
	if asJSON {
		text, err := json.Marshal(append([]T{}, list...)) // [] instead of null for an empty list
		if err == nil {
			_, err = fmt.Fprintf(out, "%s\n", text)
		}
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	return table.Flush()
}

// describe returns the role and the apps in words.
func describe(g auth.Grant) string {
	return fmt.Sprintf("%s for %s", g.Role, strings.Replace(appsOf(g), "all", "all apps", 1))
}

// appsOf returns the patterns of the apps, or "all".
func appsOf(g auth.Grant) string {
	if g.Unrestricted() {
		return "all"
	}
	return strings.Join(g.Apps, ",")
}

// formatTime returns the time in UTC, or "never" for the zero time.
func formatTime(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format(time.RFC3339)
}
