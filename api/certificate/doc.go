// Package certificate keeps what a server speaks TLS with: its certificate and key, and whom it trusts when it
// forwards a request to the leader.
//
//	files ──every second──▶ pair (checked) ──▶ in force ──▶ handshakes of clients, connections to the leader
//
// The files may be replaced at any time, one after the other or by a link that is set to another folder, as certbot
// and Kubernetes do it: what they hold is compared, not their times. What can't be used leaves in force what was
// before; the log, the warning of /healthz and /readyz and /metrics say so.
package certificate
