// Package sdk is what a job's program in Go imports. Any program can be a job; one that is built with this package
// needs no start per fire, says how far it has come, hears when it is to stop, and runs without a scheduler, too:
//
//	func main() {
//		sdk.Main(sdk.Simple(func(ctx context.Context, s sdk.Shard) error {
//			...
//		}))
//	}
//
// The same binary is used in three ways, and [Main] sees which one it is:
//
//   - As a shard of a transient job an executor starts it, it runs once, and it ends.
//   - As a shard of a daemon job it is started at the first fire, and stays: every fire is one run, one after the
//     other, in the same process. What it keeps in memory, such as connections, is there for the next run.
//   - Alone it is a command for the terminal: ./job --item 0 --param foo. ./job --help lists the flags.
//
// # The context
//
// The context of a run ends when its process is to end (SIGTERM), when the executor cancels the run because it takes
// longer than the job's timeoutSeconds, and when the run has ended. [context.Cause] says why. A function that returns
// the context's error need not add the cause: it is added to what is reported. A process that doesn't end is killed
// after the job's grace time.
//
// # Failures
//
// A run fails with the error that its function returns. A panic in it fails the run with the stack, and so does
// [runtime.Goexit]; the process and its next runs go on. A panic in a goroutine that the function started itself can't
// be caught by anybody: it ends the process, and the executor reports that and starts it again.
//
// # Exit statuses
//
// As a resident process the program ends with status 0 whatever became of its runs, for these were reported one by
// one. Without an executor, or with one that can't be talked to over a pipe, the status says what became of the run:
//
//	0   the run succeeded; with --all, all of them did
//	1   a run failed, or the executor's pipe can't be used
//	2   the flags are wrong, and nothing was run; also Go's own status after a panic that nobody could catch
//	130 a second Ctrl-C ended it (a second SIGTERM: 143)
//
// # What it prints
//
// Standard output and standard error are the program's own, and are kept with the task. The pipe to the executor has
// descriptors of its own, which no process that the program starts inherits. protocol.md beside this file says what is
// on it.
package sdk
