// Package isolation keeps jobs away from the secrets of the server and of the executor, and from the rights of
// root.
//
//   - [Conceal] closes /proc/<pid> of this process to all users but root. The server, the executor and the
//     supervisor call it.
//   - An [Account] is another user, as which jobs run (--run-as). The executor accesses that user's files only with
//     the user's rights ([Account.Do]), never with root's: the user can replace any of these files by a link while
//     the executor accesses it.
//   - [Unshared] finds an account for jobs if root starts the server without --run-as. It has ids that nothing else
//     on the machine uses.
//   - [Places] are hidden from jobs that run as the same user as the server (--local on a laptop): a mount
//     namespace shows empty folders and files instead ([Places.Start], [Enter]).
//   - [Account.Steps] lists the components of a path, and which of them a user could replace.
//
// A process of the same user can do more than read files: it can signal the server, or let a service of that user,
// such as cron or systemd --user, start a process that sees everything. Jobs are safely isolated only if they run
// as another user.
package isolation
