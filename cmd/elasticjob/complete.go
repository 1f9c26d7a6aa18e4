package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/elasticjob-go/elasticjob/client"
)

// completionTimeout bounds how long a shell waits for completions.
const completionTimeout = 2 * time.Second

// source returns the names to choose from. It may return names that do not begin with word.
type source func(ctx context.Context, c *client.Client, word string) ([]string, error)

// complete completes the values of a flag from a source.
func (a *cli) complete(cmd *cobra.Command, flag string, from source) {
	_ = cmd.RegisterFlagCompletionFunc(flag, a.completion(from)) // fails only if the flag does not exist
}

// completeWords completes the values of a flag from words, without a server.
func completeWords(cmd *cobra.Command, flag string, words ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag,
		func(_ *cobra.Command, given []string, word string) ([]string, cobra.ShellCompDirective) {
			return matching(words, given, word), cobra.ShellCompDirectiveNoFileComp
		}) // the error is ignored for the same reason
}

// matching returns the names that begin with word, without the names that the command line already has.
func matching(names, given []string, word string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return !strings.HasPrefix(name, word) || slices.Contains(given, name)
	})
}

// completion completes arguments from a source. After an error it completes nothing, because a shell cannot display
// errors.
func (a *cli) completion(from source) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, word string) ([]string, cobra.ShellCompDirective) {
		c, err := a.connect()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer c.Close()
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		names, err := from(ctx, c, word)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return matching(names, given, word), cobra.ShellCompDirectiveNoFileComp
	}
}

func appNames(ctx context.Context, c *client.Client, _ string) ([]string, error) {
	apps, err := c.Apps(ctx)
	var names []string
	for _, app := range apps.Value {
		names = append(names, app.AppName)
	}
	return names, err
}

func jobNames(ctx context.Context, c *client.Client, word string) ([]string, error) {
	page, err := c.JobPage(ctx, client.JobQuery{Search: word, PerPage: client.MaxPerPage})
	var names []string
	for _, row := range page.Value.Rows {
		names = append(names, row.JobName)
	}
	return names, err
}

func runIDs(ctx context.Context, c *client.Client, word string) ([]string, error) {
	runs, err := c.Executions(ctx, client.Runs{Job: before(word, "@"), Limit: 50})
	if err != nil { // the word is not yet the whole name of a job
		runs, err = c.Executions(ctx, client.Runs{Limit: 50})
	}
	var ids []string
	for _, run := range runs.Value {
		ids = append(ids, run.ExecutionID)
	}
	return ids, err
}

// combine returns a source with the names of two sources.
func combine(first, second source) source {
	return func(ctx context.Context, c *client.Client, word string) ([]string, error) {
		names, err := first(ctx, c, word)
		if err != nil {
			return nil, err
		}
		more, err := second(ctx, c, word)
		return append(names, more...), err
	}
}

// firstOnly completes only the first argument.
func firstOnly(f cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(given) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return f(cmd, given, word)
	}
}

// contextSource completes names of contexts, without a server.
func contextSource(a *cli) source {
	return func(context.Context, *client.Client, string) ([]string, error) { return a.contextNames() }
}
