// Package certificate manages a server's TLS settings: its certificate and key, and the certificates that it trusts
// when it forwards a request to the leader.
//
//	files ──every second──▶ pair (checked) ──▶ in force ──▶ handshakes of clients, connections to the leader
//
// The files may be replaced at any time: one after the other, or all at once through a symbolic link, as certbot and
// Kubernetes do. So the contents are compared, not the times of change. If the new contents are invalid, the previous
// pair stays in force, and the log and the warning in /healthz and /readyz say so. /metrics has the time at which the
// certificate in force expires.
package certificate
