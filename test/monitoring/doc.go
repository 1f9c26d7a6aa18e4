// Package monitoring checks what deploy/ has for Prometheus and Grafana, and /metrics itself, with a real server and
// with the real programs of Debian's package prometheus.
package monitoring
