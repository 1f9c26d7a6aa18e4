// Package guard keeps from jobs of this machine what is not theirs: what the server's next start reads and executes,
// its secrets and its data folder. Where jobs are another user, that user must not be able to change them; where they
// are the server's own, they are started without them, and what can't be hidden is warned of.
package guard
