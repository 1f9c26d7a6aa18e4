// Package definitions tests apply, diff, export and import of the command line with real servers.
package definitions
