// Package settings reads the settings of a server from the command line, the environment and the properties file of an
// ElasticJob-Cloud, in this order of precedence. New defines the flags of a command. After the flags are parsed,
// Complete reads the other sources and the files that flags name, and returns one error about all invalid and
// contradictory settings. Config then returns the settings. The package connects to nothing and changes nothing.
//
//	settings.go                          reads all sources, and prints the settings for --check-config
//	flags.go                             the flags, in the groups of --help
//	environment.go original.go           the other sources of values
//	check.go                             the order of the checks, and contradictions between settings
//	config.go                            the settings; each part has a file with its flags and checks
//	report.go                            errors, notes, and the source of each value
package settings
