// Package podlog reads what the containers of pods write, through the API server and never from a node itself. Files
// is the text, for people: what the job has written, without what its executor says between. Follower hears the latter
// of pods that run, for the scheduler.
//
// The API server gives a container's output from its beginning, or what was written in the last seconds, but not from
// a place in it. So somebody who reads on and on, as people and followers of a live task do, must not ask each time: a
// text that is being read is followed once, for all its readers, into a file of this machine, and forgotten when
// nobody has read it for a while.
package podlog
