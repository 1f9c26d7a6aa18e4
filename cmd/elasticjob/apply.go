package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/elasticjob-go/elasticjob/client"
	"github.com/elasticjob-go/elasticjob/definitions"
)

// applyOptions are the arguments of apply and diff.
type applyOptions struct {
	*cli
	files             []string
	plan              definitions.PlanOptions
	kill, dryRun, yes bool
	exitCode          bool
}

const applyHelp = `The files contain apps and jobs: the server's documents as YAML with kind: App or kind: Job, several in a file separated by ---.
In a folder, all *.yaml and *.yml files at any depth are read. Fields that a file leaves out have their defaults; disabled: true or false
sets whether an app or a job is disabled, and without it that stays unchanged.

Everything is checked before anything changes. Apps are created before their jobs; a failure is reported, and the rest continues.
Changes apply from the next run on; current runs continue. Without --kill, a job to be disabled is shut down, unless runs of it wait,
and a job is not removed while runs of it are running or waiting.

A secret that the server hides can't be compared: the one in the file is ignored and not sent, unless --send-secrets is given.
Keep secrets out of the files with fromFile and fromEnv.

--prune removes jobs that are in no file, if the files define their app; jobs of other apps stay, and so do all apps.
--prune-app NAME removes the app NAME and its jobs, unless the files define it. Both ask first on a terminal; scripts need --yes.`

func (a *cli) applyCommand() *cobra.Command {
	o := &applyOptions{cli: a}
	cmd := &cobra.Command{Use: "apply -f FILE|FOLDER", Short: "Make apps and jobs match the files", Long: applyHelp,
		Args:    filesByFlag,
		Example: "  elasticjob apply -f jobs/ --dry-run\n  elasticjob apply -f jobs/ --prune --yes",
		RunE:    a.withServer(o.run)}
	o.planFlags(cmd)
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false,
		"show what would change, let the server check it, and change nothing")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "remove without asking")
	cmd.Flags().BoolVar(&o.kill, "kill", false, "also disable and remove jobs with current runs, which are killed")
	return cmd
}

func (a *cli) diffCommand() *cobra.Command {
	o := &applyOptions{cli: a, dryRun: true}
	cmd := &cobra.Command{Use: "diff -f FILE|FOLDER", Short: "Show what apply would change",
		Long: "The same as apply --dry-run.\n\n" + applyHelp, Args: filesByFlag,
		Example: "  elasticjob diff -f jobs/\n  elasticjob diff -f jobs/ --prune --exit-code",
		RunE:    a.withServer(o.run)}
	o.planFlags(cmd)
	cmd.Flags().BoolVar(&o.exitCode, "exit-code", false, "exit with 1 if something differs")
	return cmd
}

func (o *applyOptions) planFlags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVarP(&o.files, "file", "f", nil,
		"a file or a folder; may be given several times; - is standard input")
	cmd.Flags().BoolVar(&o.plan.Prune, "prune", false, "remove jobs of the files' apps that are in no file")
	cmd.Flags().StringSliceVar(&o.plan.PruneApps, "prune-app", nil,
		"remove this app and its jobs where the files don't define it")
	cmd.Flags().BoolVar(&o.plan.SendSecrets, "send-secrets", false,
		"send secrets that the files have in clear, although they can't be compared")
	o.complete(cmd, "prune-app", appNames)
}

func (o *applyOptions) run(ctx context.Context, c *client.Client, _ []string) error {
	set, err := o.readDefinitions(o.files)
	if err != nil {
		return err
	}
	server := definitionServer{c}
	state, err := definitions.Fetch(ctx, server)
	if err != nil {
		return err
	}
	plan, err := definitions.NewPlan(set, state, o.plan)
	if err != nil {
		return problemsIn(err)
	}
	o.noteChanges(set, plan)
	if o.output == "table" {
		if err := plan.Show(cleanWriter{o.out}); err != nil {
			return err
		}
	}
	if err := plan.Check(ctx, server); err != nil {
		return problemsIn(err)
	}
	switch {
	case o.dryRun:
		return o.finishDiff(plan)
	case plan.Empty():
		return o.showResults(nil)
	}
	if err := o.confirm(ctx, plan.Count(definitions.Remove)); err != nil {
		return err
	}
	return o.apply(ctx, server, plan)
}

// noteChanges prints the notes about the plan and about the definitions that change. Notes about unchanged
// definitions were printed when those were applied.
func (o *applyOptions) noteChanges(set *definitions.Set, plan *definitions.Plan) {
	changes := map[string]bool{}
	for _, s := range plan.Steps {
		changes[s.String()] = s.Action != definitions.Keep
	}
	for _, note := range set.Notes {
		if changes[note.Subject] {
			o.note(note.String())
		}
	}
	for _, note := range plan.Notes {
		o.note(note)
	}
}

// finishDiff ends a command that only shows the plan.
func (o *applyOptions) finishDiff(plan *definitions.Plan) error {
	err := o.showOwn(changesOf(plan), func() error { return nil })
	if err == nil && o.exitCode && !plan.Empty() {
		return errors.New("something differs")
	}
	return err
}

// confirm asks the user before anything is removed. A script, which cannot be asked, must give --yes.
func (o *applyOptions) confirm(ctx context.Context, removed int) error {
	if removed == 0 || o.yes {
		return nil
	}
	keys, ok := terminal(o.in)
	if !ok {
		return usagef("nothing was changed: %d would be removed; give --yes to confirm", removed)
	}
	fmt.Fprintf(o.err, "Remove %d, and change the rest as shown? [y/N] ", removed)
	answer, err := awaitInput(ctx, func() (string, error) { return bufio.NewReader(keys).ReadString('\n') })
	if err != nil {
		return err
	}
	if word := strings.ToLower(strings.TrimSpace(answer)); word != "y" && word != "yes" {
		return usagef("nothing was changed")
	}
	return nil
}

func (o *applyOptions) apply(ctx context.Context, server definitions.API, plan *definitions.Plan) error {
	var results []change
	failed, err := plan.Apply(ctx, server, definitions.ApplyOptions{Kill: o.kill, Report: func(r definitions.Result) {
		c := changeOf(r.Step)
		if r.Err != nil {
			c.Error = errorText(r.Err)
			fmt.Fprintln(o.err, "elasticjob: "+clean(r.String()))
		} else {
			o.printf("%s", clean(r.String()))
		}
		results = append(results, c)
	}})
	if showErr := o.showResults(results); err == nil {
		err = showErr
	}
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d of %d failed; the others are done, and apply does the rest when it is run again", failed,
			len(results))
	}
	return err
}

// showResults prints the results as JSON or YAML. A table needs nothing more: apply has printed a line for each
// result.
func (o *applyOptions) showResults(results []change) error {
	if results == nil {
		results = []change{}
	}
	return o.showOwn(results, func() error { return nil })
}
