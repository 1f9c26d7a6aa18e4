// Package auth decides who may do what: it manages users and API tokens with their roles, issues and verifies login
// tokens, and limits the rate of failed logins.
//
// The access document is one shared value of the registry (registry.Shared), outside all terms. Any server or command
// may change it, by version. Every server keeps a copy that it reads again each second and that stays valid for a
// minute. So followers authenticate requests themselves, and the first user can be created while no server runs. A
// change and its audit row are one write; the leader moves the rows into the audit log (PendingAudit, TakeAudit).
//
//	Access      the copy of the document                      access.go
//	            changes by compare-and-set, with their rows   change.go
//	            who a token belongs to                        authenticate.go
//	            logins and logouts                            login.go
//	            users and API tokens                          accounts.go
//	document    what is stored, and how much of it            document.go
//	hasher      argon2id, few at once                         password.go
//	limiter     delays after failed logins: pure              limiter.go
//	Grant       a role, for all apps or for those that patterns name          grant.go
//	Principal   the origin of a request, and its grant                        principal.go
//
// Passwords are stored as argon2id hashes, API tokens as SHA-256, which suffices because they are random. Login tokens
// are signed and not stored; only revoked ones are, until they would have expired.
package auth
