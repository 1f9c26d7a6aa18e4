// Package auth decides who may do what: it manages users and API tokens with their roles, issues and verifies login
// tokens, and limits the rate of failed logins.
//
// The access document is a shared value of the registry (registry.Shared), which no leader term owns. Any server or
// command may change it, by compare-and-set with its version. So the first user can be created while no server runs.
// Every server reads a copy each second, which stays valid for a minute. So followers authenticate requests
// themselves. A change and its audit row are one write; the leader moves the rows into the audit log (PendingAudit,
// TakeAudit).
//
//	Access      the copy of the document                      access.go
//	            changes of it by compare-and-set              change.go
//	            the principal of a token                      authenticate.go
//	            logins and logouts                            login.go
//	            users and API tokens                          accounts.go
//	document    its content and size limits                   document.go
//	hasher      argon2id hashes of passwords                  password.go
//	limiter     throttles logins after failures               limiter.go
//	Grant       a role, for all apps or for those that patterns name          grant.go
//	Principal   the origin of a request, and its grant                        principal.go
//
// Passwords are stored as argon2id hashes. API tokens are stored as SHA-256 hashes, which suffices because they are
// random. Login tokens are signed and not stored; the document stores the sessions of revoked ones until they would
// have expired.
package auth
