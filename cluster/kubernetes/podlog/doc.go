// Package podlog reads the output of pods' containers, through the API server and never from a node itself. The
// executor writes its records between the lines of the job. Files serves the job's output without these records to
// users. Follower extracts the records from running pods for the scheduler.
//
// The API server returns a container's output from its beginning or from the last seconds, but not from an offset.
// Users and tools that follow a live task continue at an offset, so a request for each of their reads would transfer
// the whole output each time. Instead, one request follows a text for all its readers and stores it in a file on this
// machine. The file is removed when the text has not been read for a while.
package podlog
