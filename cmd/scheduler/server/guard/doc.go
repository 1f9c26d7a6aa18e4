// Package guard protects a server's files from the jobs that run on the same machine: the files that the next start
// reads or executes, the secrets and the data folder. If jobs run as another user, the package checks that this user
// cannot change the files. If jobs run as the server's own user, it hides the files from the executors, and logs
// warnings about files that cannot be protected.
package guard
