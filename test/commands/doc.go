// Package commands types the commands in the documents, word for word and in order. Each document has a machine of
// its own: a clone, a home, and ports and a /tmp that replace those in the text.
//
// HTML comments in a document, which readers do not see, contain what the test cannot know. They stand before the
// block of commands that they are about, which begins with ```sh:
//
//	<!-- not run: REASON -->                     no test types it, with the reason
//	<!-- run by test/examples: TestWordcount --> another test types it, and reads the document
//	<!-- stays until URL -->                     the command keeps running; it is ready when that address answers
//	<!-- ends what stays -->                     first, all running commands are ended
//	<!-- is given LINE -->                       the input when a command asks
//	<!-- exits with 1 -->                        the block's exit status, if it is not 0
//	<!-- curl lines and their answers -->        curl lines are typed; examples of their answers follow them
//	<!-- before: COMMANDS -->                    typed first, for what the text assumes
//	<!-- before, stays until URL: COMMANDS -->   the same for commands that keep running
//
// A block of ```text after a block of commands contains their output: its lines occur in that order, with other lines
// between them, … stands for any text, and a time for any time. Every other code block, in any language, has one of
// the first two comments. In commands of "before", eventually COMMAND repeats a command until it succeeds.
package commands
