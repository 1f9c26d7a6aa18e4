// Package monitoring checks the files for Prometheus and Grafana in deploy/, and /metrics itself, with a real server
// and the real programs of Debian's package prometheus.
package monitoring
