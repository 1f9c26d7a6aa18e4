package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/client"
	"github.com/elasticjob-go/elasticjob/internal/spelling"
)

// suggestApp adds the nearest existing name to an error about an app that does not exist. It returns other errors
// unchanged.
func (a *cli) suggestApp(ctx context.Context, c *client.Client, err error, name string) error {
	return withSuggestion(ctx, c, err, "app_not_found", name, appNames)
}

// suggestJob does the same for jobs.
func (a *cli) suggestJob(ctx context.Context, c *client.Client, err error, name string) error {
	all := func(ctx context.Context, c *client.Client, _ string) ([]string, error) { return jobNames(ctx, c, "") }
	return withSuggestion(ctx, c, err, "job_not_found", name, all)
}

func withSuggestion(ctx context.Context, c *client.Client, err error, code, name string, from source) error {
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Code != code {
		return err
	}
	names, listErr := from(ctx, c, name)
	meant := spelling.Nearest(name, names)
	if listErr != nil || meant == "" {
		return err
	}
	message := fmt.Sprintf("%s; did you mean %s?", before(refused.Message, "; GET "), meant)
	return &client.Error{Status: refused.Status, Code: "", Message: message}
}

// otherWords maps commands of other schedulers, which users may type here, to the command that does the same.
var otherWords = map[string]string{
	"elasticjob job run":    "job trigger",
	"elasticjob job start":  "job trigger",
	"elasticjob job log":    "elasticjob logs JOB",
	"elasticjob job logs":   "elasticjob logs JOB",
	"elasticjob job status": "job explain",
	"elasticjob run log":    "elasticjob logs RUN",
	"elasticjob run logs":   "elasticjob logs RUN",
	"elasticjob run status": "run show",
	"elasticjob start":      "job trigger",
	"elasticjob status":     "top",
}

// nearCommand returns the command that was probably meant, or "": the command that otherWords has for the name, a
// command with a similar name, or a subcommand of another command with this name.
func nearCommand(parent *cobra.Command, name string) string {
	if meant := otherWords[parent.CommandPath()+" "+name]; meant != "" {
		return meant
	}
	if near := parent.SuggestionsFor(name); len(near) > 0 {
		return near[0]
	}
	for _, child := range parent.Commands() {
		for _, grandchild := range child.Commands() {
			if grandchild.Name() == name && child.IsAvailableCommand() {
				return child.Name() + " " + name
			}
		}
	}
	return ""
}

// suggestFlag adds the flag that was probably meant to an error about an unknown flag: a flag with a similar name, or a
// flag that has the unknown name as one of its words, such as time-zone for zone. It returns other errors unchanged.
func suggestFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return err
	}
	name, meant := unknown.GetSpecifiedName(), ""
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		names = append(names, f.Name)
		if slices.Contains(strings.Split(f.Name, "-"), name) && meant == "" {
			meant = f.Name
		}
	})
	if meant = cmp.Or(spelling.Nearest(name, names), meant); meant == "" {
		return err
	}
	return fmt.Errorf("%w; did you mean --%s?", err, meant)
}
