// Package certificate manages a server's TLS settings: its certificate and key, and the certificates that it trusts
// when it forwards a request to the leader.
//
//	files ──every second──▶ pair (checked) ──▶ in force ──▶ handshakes of clients, connections to the leader
//
// The files may be replaced at any time, one after the other or through a symbolic link that is set to another
// directory, as certbot and Kubernetes do it. So the contents are compared, not the times. If the new contents are
// invalid, the pair before stays in force; the log, the warning in /healthz and /readyz, and /metrics report it.
package certificate
