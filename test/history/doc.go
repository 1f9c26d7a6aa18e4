// Package history tests with real processes and a real MariaDB that the history is complete: whatever is killed, full
// or wrong, what ran stands in the database once. What ran is known from the jobs' own processes, which write it down.
package history
