// Package sdk is the library for job programs in Go. Any program can be a job. But a program that uses this package
// can also keep running between fires, report its progress, learn when it must stop, and run without a scheduler:
//
//	func main() {
//		sdk.Main(sdk.Simple(func(ctx context.Context, s sdk.Shard) error {
//			...
//		}))
//	}
//
// The same binary can be used in three ways, and [Main] detects which one applies:
//
//   - As a shard of a transient job: an executor starts it, and it runs once and exits.
//   - As a shard of a daemon job: the executor starts it at the first fire, and it keeps running. Each fire is one run
//     in the same process, one after the other. State in memory, such as connections, remains for the next run.
//   - Without an executor, as a command for the terminal: ./job --item 0 --param foo. ./job --help lists the flags.
//
// # The context
//
// The context of a run ends in three cases: the process gets a SIGTERM, the executor cancels the run because it
// exceeds the job's timeoutSeconds, or the run has ended. [context.Cause] returns the reason. A function that returns
// the context's error need not add the reason, because the SDK adds it to the reported error. If the process does not
// end in time, the executor kills it after the job's grace time.
//
// # Failures
//
// A run fails with the error that its function returns. It also fails if the function panics, with the stack as the
// error, or calls [runtime.Goexit]. The process and its later runs continue. A panic in a goroutine that the function
// has started can't be recovered and ends the process. The executor then reports the failure and restarts the process.
//
// # Exit statuses
//
// A resident process exits with status 0 whatever the results of its runs, because it has already reported each of
// them. Without an executor, or if there is no pipe to the executor, the status is the result of the run:
//
//	0   the run succeeded; with --all, all of them did
//	1   a run failed, or the executor's pipe cannot be used
//	2   the flags are wrong, and nothing was run; also Go's status after an unrecovered panic
//	130 a second Ctrl-C ended it (a second SIGTERM: 143)
//
// # Output
//
// Standard output and standard error belong to the program, and the executor keeps them with the task. The pipe to the
// executor uses other descriptors, which no child process inherits. protocol.md in this folder specifies its messages.
package sdk
