// Package users has the commands about users and API tokens. A server that has the registry's file open is asked to do
// what they say, at its socket; any other registry they open themselves.
//
//	command.go                           what the commands share; user.go and token.go have each of them
//	people.go                            where users and tokens are found
//	registrypeople.go socketpeople.go    in a registry, behind a server's socket
//	password.go show.go                  what is asked for, and what is shown
package users

import "github.com/spf13/cobra"

// Commands are scheduler user and scheduler token.
func Commands() []*cobra.Command { return []*cobra.Command{userCommand(), tokenCommand()} }
