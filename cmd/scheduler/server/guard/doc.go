// Package guard protects a server from the jobs that run on the same machine: what the next start reads and executes,
// its secrets and its data folder. If jobs run as another user, the package checks that this user cannot change them.
// If jobs run as the server's own user, it hides them from the executors and warns about what cannot be hidden.
package guard
