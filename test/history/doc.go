// Package history tests with real processes and a real MariaDB that the history is complete: whatever is killed, full
// or misconfigured, each run is in the database once. The jobs' own processes record what ran.
package history
