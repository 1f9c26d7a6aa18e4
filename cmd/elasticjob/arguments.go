package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// oneArg accepts exactly one argument, which errors call name.
func oneArg(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return usagef("%s is missing", name)
		case 1:
			return nil
		}
		return usagef("expected one %s, got %d: %s", name, len(args), strings.Join(args, " "))
	}
}

// someArgs accepts one or more arguments.
func someArgs(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef("%s is missing", name)
		}
		return nil
	}
}

// noArgs accepts no argument.
func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("unexpected argument %q", args[0])
	}
	return nil
}

// filesByFlag accepts no argument. Its error names the flag for files.
func filesByFlag(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("unexpected argument %q: give -f %s", args[0], args[0])
	}
	return nil
}

// optionalArg accepts at most one argument.
func optionalArg(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return oneArg(name)(cmd, args)
	}
}
