// Package isolation keeps from the processes of jobs what is not theirs: the secrets of the server and of the
// executor, and what only root may do.
//
//   - [Conceal] closes /proc/<pid> of this process to all others but root's, for the server, the executor and the
//     supervisor alike.
//   - An [Account] is another user that jobs run as (--run-as). What that user can reach is touched by his rights
//     ([Account.Do]), never by root's: he can put a link in the place of any file of his while it is being looked at.
//   - [Unshared] finds an account for jobs where root has named none: ids that no one else on the machine has.
//   - [Places] are hidden from jobs that run as the same user as the server (--local on a laptop): a mount namespace
//     shows something empty in their place ([Places.Start], [Enter]).
//   - [Account.Steps] says which names on the way to a path a user could put something else in the place of.
//
// Whoever is the same user can do more than read files: signal the server, or have a service of that user, such as
// cron or systemd --user, start a process that sees everything. Another user is the safe way.
package isolation
