package commandline

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/internal/spelling"
)

// RefuseBadFlags has a command say what is wrong with flags that can't be read, and refuse arguments that are no
// flags.
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
		return fmt.Errorf("%q is no flag and no command: %s --help lists all", args[0], cmd.CommandPath())
	}
}

// Explain is what to say of a flag that could not be read.
func Explain(flags *pflag.FlagSet, err error) error {
	var bad *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &bad) && bad.GetValue() == "":
		return IsEmpty("--" + bad.GetFlag().Name)
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

// Set sets a flag from another source than the command line.
func Set(flags *pflag.FlagSet, name, value string) error {
	if err := flags.Set(name, value); err != nil {
		return badValue(err)
	}
	return nil
}

// badValue is what to say of a flag's value, instead of what Go's parser says.
func badValue(err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return err
	}
	switch bad.GetFlag().Value.Type() {
	case "bool":
		return errors.New("want true or false")
	case "int":
		return errors.New("want a whole number")
	case "float64":
		return errors.New("want a number")
	case "duration":
		return errors.New("want a time with its unit, such as 30s or 5m")
	}
	return err
}

// RefuseEmpty refuses flags that the command line gives without a value, as a script does whose own
// variable is not set: taken as left out, --zk "" would silently be a server without ZooKeeper.
func RefuseEmpty(flags *pflag.FlagSet) error {
	var errs []error
	flags.Visit(func(f *pflag.Flag) {
		list, isList := f.Value.(pflag.SliceValue)
		if f.Value.String() == "" || isList && len(list.GetSlice()) == 0 {
			errs = append(errs, IsEmpty("--"+f.Name))
		}
	})
	return errors.Join(errs...)
}

// IsEmpty is what to say of a flag or a variable that is given without a value.
func IsEmpty(what string) error {
	return fmt.Errorf("%s is empty: give it a value, or leave it out", what)
}
