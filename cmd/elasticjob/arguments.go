package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// oneArg takes one argument, which is called what.
func oneArg(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return usagef("%s is missing", what)
		case 1:
			return nil
		}
		return usagef("one %s is wanted, and these are %d: %s", what, len(args), strings.Join(args, " "))
	}
}

// someArgs takes at least one argument.
func someArgs(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef("%s is missing", what)
		}
		return nil
	}
}

// noArgs takes none.
func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%q is too much: no argument is wanted", args[0])
	}
	return nil
}

// filesByFlag takes none, and says by which flag files are given.
func filesByFlag(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%q is too much: give -f %s", args[0], args[0])
	}
	return nil
}

// optionalArg takes one argument or none.
func optionalArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return oneArg(what)(cmd, args)
	}
}
