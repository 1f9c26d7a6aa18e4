package commandline

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/internal/spelling"
)

// RefuseBadFlags makes a command print an explanation of a flag that cannot be parsed, and return ErrUsage. It also
// makes the command return an error for positional arguments.
func RefuseBadFlags(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		fmt.Fprintf(os.Stderr, "scheduler: %v\n%s --help lists all flags.\n", Explain(cmd.Flags(), err),
			cmd.CommandPath())
		return ErrUsage
	})
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return fmt.Errorf("%q is not a flag or a command: %s --help lists all", args[0], cmd.CommandPath())
	}
}

// Explain converts an error of parsing the flags into an error that names the accepted values or the nearest flag. It
// returns any other error unchanged.
func Explain(flags *pflag.FlagSet, err error) error {
	var bad *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &bad) && bad.GetValue() == "":
		return EmptyError("--" + bad.GetFlag().Name)
	case errors.As(err, &bad):
		return fmt.Errorf("--%s %q: %w", bad.GetFlag().Name, bad.GetValue(), badValue(err))
	case errors.As(err, &unknown):
		var names []string
		flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := spelling.Nearest(unknown.GetSpecifiedName(), names); near != "" {
			return fmt.Errorf("%w; did you mean --%s?", err, near)
		}
	}
	return err
}

// Set sets a flag to a value that does not come from the command line. The error names the accepted values.
func Set(flags *pflag.FlagSet, name, value string) error {
	if err := flags.Set(name, value); err != nil {
		return badValue(err)
	}
	return nil
}

// badValue converts the parser's error about the value of a flag into an error that says which values the flag
// accepts.
func badValue(err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return err
	}
	switch bad.GetFlag().Value.Type() {
	case "bool":
		return errors.New("must be true or false")
	case "int", "int64":
		return errors.New("must be a whole number")
	case "float64":
		return errors.New("must be a number")
	case "duration":
		return errors.New("must be a duration with its unit, such as 30s or 5m")
	}
	return err
}

// RefuseEmpty returns an error for each flag that the command line sets to an empty value. A script does that if one
// of its variables is not set. If --zk "" counted as omitted, for example, the server would run without ZooKeeper.
func RefuseEmpty(flags *pflag.FlagSet) error {
	var errs []error
	flags.Visit(func(f *pflag.Flag) {
		list, isList := f.Value.(pflag.SliceValue)
		if f.Value.String() == "" || isList && len(list.GetSlice()) == 0 {
			errs = append(errs, EmptyError("--"+f.Name))
		}
	})
	return errors.Join(errs...)
}

// EmptyError returns the error for a flag or an environment variable that is set to an empty value.
func EmptyError(name string) error {
	return fmt.Errorf("%s is empty: give it a value, or leave it out", name)
}
