// Package auth says who may do what: users and API tokens with their roles, the tokens that a login gives, and how
// failed logins are slowed down.
//
// What outlives a server, the access document, is one shared value of the registry (registry.Shared), beside all
// terms: it is changed by version, by whichever server or command does it, and every server keeps a copy that is read
// again each second, and counts for a minute. So a follower knows who may read what it answers by itself, and the
// first user can be made while no server runs. A change and its audit row are one write; the leader takes the rows
// into the audit (PendingAudit, TakeAudit).
//
//	Access      the copy of the document                      access.go
//	            changes by compare-and-set, with their rows   change.go
//	            who a token belongs to                        authenticate.go
//	            logins and logouts                            login.go
//	            users and API tokens                          people.go
//	document    what is stored, and how much of it            document.go
//	hasher      argon2id, few at once                         password.go
//	limiter     who waits after failed logins: pure           limiter.go
//	Grant       a role, for all apps or for those that patterns name          grant.go
//	Principal   who a request comes from, and what is granted                 principal.go
//
// Passwords are kept as argon2id, API tokens as SHA-256: they are random, so nothing slower is needed. Login tokens
// are signed and not kept; only those that were revoked are, until they would have expired.
package auth
