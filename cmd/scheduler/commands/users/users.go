// Package users implements the commands about users and API tokens. If a server has the registry's file open, the
// commands send requests to its admin socket; otherwise they open the registry themselves.
//
//	user.go token.go                        the commands
//	command.go                              the flags and arguments of the commands
//	accounts.go                             opens the registry, or connects to the admin socket
//	socketaccounts.go                       the API of a running server through its socket
//	password.go show.go                     input of passwords, output of lists
package users

import "github.com/spf13/cobra"

// Commands returns scheduler user and scheduler token.
func Commands() []*cobra.Command { return []*cobra.Command{userCommand(), tokenCommand()} }
