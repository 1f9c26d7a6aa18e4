// Package podlog reads the output of pods' containers, through the API server and never from a node itself. Files
// serves the text to people: the job's output without the executor's records in between. Follower extracts these
// records from running pods, for the scheduler.
//
// The API server returns a container's output from its beginning or from the last seconds, but not from an offset.
// Readers that continue at an offset, such as people or tools that follow a live task, must therefore not cause a
// request each time. Instead, one request follows a text for all its readers and stores it in a file on this machine.
// The file is removed when the text has not been read for a while.
package podlog
