// Package settings is what a server is told: by the command line, the environment and the properties file of an
// ElasticJob-Cloud, in that order. New defines the flags of a command; when they are parsed, Complete adds what the
// others say, reads the files that flags name, and refuses what is wrong or contradicts, all of it at once. Config is
// then what is in force. Nothing is connected to, and nothing is changed.
//
//	settings.go                          the way through, and what --check-config prints
//	flags.go                             the flags, in the groups of --help
//	environment.go original.go           where else values are given
//	check.go                             what is checked, in which order, and what contradicts
//	config.go                            what is in force, of parts, each in a file with what it is checked for
//	report.go                            what is wrong, what should be known, and where a value was given
package settings
