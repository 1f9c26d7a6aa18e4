// Package commands types what the documents tell their readers to type, word for word and in order, each document on a
// machine of its own: a clone, a home, and ports and a /tmp that stand for those in the text.
//
// A document says in HTML comments, which readers don't see, what the test can't know. They stand before the block of
// commands, one that begins with ```sh, that they are about:
//
//	<!-- not run: REASON -->                     no test types it, and why
//	<!-- run by test/examples: TestWordcount --> another test does, which reads the document
//	<!-- stays until URL -->                     the command goes on; it is ready when that address answers
//	<!-- ends what stays -->                     first, all that goes on is ended
//	<!-- is given LINE -->                       what is typed where a command asks
//	<!-- exits with 1 -->                        the block's exit status, where it isn't 0
//	<!-- curl lines and their answers -->        lines that begin with curl are typed; what follows each has an example of its answer
//	<!-- before: COMMANDS -->                    typed first, for what the text takes for granted
//	<!-- before, stays until URL: COMMANDS -->   the same for something that goes on
//
// A block of ```text behind one of commands is what these write: its lines come in that order, other ones may come
// between them, … stands for anything, and a time for any time. Every other code block, whatever its language, has one
// of the first two comments. In commands that come "before", eventually COMMAND tries a command until it succeeds.
package commands
