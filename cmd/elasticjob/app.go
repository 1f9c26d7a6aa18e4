package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/client"
)

var appFields = []field{
	{flag: "url", name: "appURL", zero: "", usage: "where agents fetch the package"},
	{flag: "script", name: "bootstrapScript", zero: "", usage: "the command that runs a shard, such as bin/start.sh"},
	{flag: "cpu", name: "cpuCount", zero: 0.0, fallback: app.LeanCPUCount, always: true, usage: "CPU of the app's executor, once per agent"},
	{flag: "memory", name: "memoryMB", zero: 0.0, fallback: float64(app.LeanMemoryMB), always: true, usage: "memory of the app's executor in MB, once per agent"},
	{flag: "cache", name: "appCacheEnable", zero: false, usage: "keep the package on the agents between runs"},
	{flag: "sha256", name: "appSHA256", zero: "", usage: "the package's checksum in hex; no other package is run"},
	{flag: "image", name: "image", zero: "", usage: "on Kubernetes: the image that shards run in; with one an app needs no package"},
	{flag: "image-pull-policy", name: "imagePullPolicy", zero: "", usage: "on Kubernetes: Always, IfNotPresent or Never"},
	{flag: "image-pull-secrets", name: "imagePullSecrets", zero: []string{}, usage: "on Kubernetes: names of the Secrets that images are pulled with"},
	{flag: "sampling", name: "eventTraceSamplingCount", zero: 0, usage: "record one of this many runs of a daemon; 0 records all"},
}

func (a *cli) appCommand() *cobra.Command {
	list := &cobra.Command{Use: "list", Short: "List all apps", Args: noArgs, RunE: a.withServer(a.listApps)}
	show := &cobra.Command{Use: "show NAME", Short: "Show an app", Args: oneArg("NAME"), RunE: a.withServer(a.showApp),
		ValidArgsFunction: firstOnly(a.completion(appNames))}
	var jobs bool
	remove := &cobra.Command{Use: "delete NAME...", Short: "Delete apps", Args: someArgs("NAME"),
		ValidArgsFunction: a.completion(appNames),
		RunE: a.eachApp("deleted", func(ctx context.Context, c *client.Client, name string) (client.Answer[client.App],
			error) {
			return c.DeleteApp(ctx, name, jobs)
		})}
	remove.Flags().BoolVar(&jobs, "jobs", false, "delete their jobs as well")
	enabling := func(use, short, done string, enabled bool) *cobra.Command {
		return &cobra.Command{Use: use + " NAME...", Short: short, Args: someArgs("NAME"),
			ValidArgsFunction: a.completion(appNames),
			RunE: a.eachApp(done, func(ctx context.Context, c *client.Client, name string) (client.Answer[client.App],
				error) {
				return c.SetAppEnabled(ctx, name, enabled)
			})}
	}
	return group("app", "Publish, change and show apps",
		"An app is a package with a script that starts it; jobs run on apps.",
		a.writeAppCommand(true), a.writeAppCommand(false), list, show,
		enabling("disable", "Disable apps, and so all their jobs", "disabled", false),
		enabling("enable", "Enable apps", "enabled", true), remove)
}

func (a *cli) writeAppCommand(isNew bool) *cobra.Command {
	var file string
	var check bool
	cmd := &cobra.Command{Use: "publish [NAME]", Short: "Publish a new app",
		Example: `  elasticjob app publish billing --url https://host/billing-1.2.tar.gz --script bin/start.sh
  elasticjob app publish reports --image registry.example/reports:7 --script bin/start.sh
  elasticjob app publish -f billing.yaml --check`}
	if !isNew {
		cmd.Use, cmd.Short = "update [NAME]", "Change the given fields of an app"
		cmd.Example = "  elasticjob app update billing --url https://host/billing-1.3.tar.gz --check"
		cmd.ValidArgsFunction = firstOnly(a.completion(appNames))
	}
	cmd.Args = optionalArg("NAME")
	fieldFlags(cmd, appFields, &file, isNew)
	cmd.Flags().BoolVar(&check, "check", false,
		"first let the server fetch the package and look for the command in it, "+
			"and change nothing if it finds a problem")
	cmd.RunE = a.withServer(func(ctx context.Context, c *client.Client, args []string) error {
		d, err := a.gather(cmd, args, file, "appName", appFields)
		if err != nil {
			return err
		}
		given := maps.Clone(d)
		if image, _ := d["image"].(string); isNew && image == "" { // an app with an image has no executor to set up
			d.setFallbacks(appFields)
		}
		text, err := d.raw()
		if err != nil {
			return err
		}
		write, done := c.PublishApp, "published"
		if !isNew {
			write, done = c.UpdateApp, "updated"
		}
		answer, err := write(ctx, text, check)
		if err != nil {
			return a.suggestApp(ctx, c, err, fmt.Sprint(d["appName"]))
		}
		if isNew && answer.Value.Image == "" {
			a.note(given.defaultsText("its executor on each agent", answer.Value.CPUCount, answer.Value.MemoryMB))
		}
		return a.appDone(answer, done)
	})
	return cmd
}

// appDone prints what was done to an app, with the server's notes about it.
func (a *cli) appDone(answer client.Answer[client.App], done string) error {
	a.notes(answer.Value.Notes)
	return a.show(answer.Raw, func() error { a.printf("app %s %s", answer.Value.AppName, done); return nil })
}

// eachApp returns the function of a command that calls work for each app, and continues after an error.
func (a *cli) eachApp(
	done string, work func(context.Context, *client.Client, string) (client.Answer[client.App], error),
) func(*cobra.Command, []string) error {
	return a.withServer(func(ctx context.Context, c *client.Client, names []string) error {
		return a.each(names, func(name string) error {
			answer, err := work(ctx, c, name)
			if err != nil {
				return a.suggestApp(ctx, c, err, name)
			}
			return a.appDone(answer, done)
		})
	})
}

// each calls work for each name, and continues after an error.
func (a *cli) each(names []string, work func(name string) error) error {
	a.several = len(names) > 1
	return tryAll(a, names, work)
}

// tryAll calls work for each item, and continues after an error. It returns the first error, whose exit status the
// command then has, and prints the others. An interrupt ends it at once.
func tryAll[T any](a *cli, items []T, work func(T) error) error {
	var first error
	for _, item := range items {
		err := work(item)
		switch {
		case err == nil:
		case errors.Is(err, context.Canceled):
			return err
		case first == nil:
			first = err
		default:
			a.report(nil, err)
		}
	}
	return first
}

func (a *cli) listApps(ctx context.Context, c *client.Client, _ []string) error {
	apps, err := c.Apps(ctx)
	if err != nil {
		return err
	}
	return a.show(apps.Raw, func() error {
		t := &table{columns: []column{{title: "NAME", minWidth: 12}, {title: "PACKAGE", minWidth: 16},
			{title: "SCRIPT", minWidth: 10}, {title: "CPU", right: true}, {title: "MEMORY", right: true}}}
		for _, row := range apps.Value {
			t.add(text(row.AppName), text(cmp.Or(row.AppURL, row.Image)), text(row.BootstrapScript),
				text(number(row.CPUCount)), text(number(row.MemoryMB)+" MB"))
		}
		return a.print(t, `there are no apps; "elasticjob app publish" publishes one`)
	})
}

func (a *cli) showApp(ctx context.Context, c *client.Client, args []string) error {
	stored, err := c.App(ctx, args[0])
	if err != nil {
		return a.suggestApp(ctx, c, err, args[0])
	}
	return a.show(stored.Raw, func() error {
		disabled, err := c.AppDisabled(ctx, args[0])
		if err != nil {
			return err
		}
		return a.printFields(stored.Raw, pair{"disabled", strconv.FormatBool(disabled.Value)})
	})
}

// number formats a number without unnecessary digits.
func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// stateName is the name of the pair whose value is a state, which is printed in the colour of that state.
const stateName = "state"

// pair is a line in the description of one object.
type pair struct{ name, value string }

// printFields prints the fields of a document that are not empty, in their order, followed by the extra pairs.
func (a *cli) printFields(raw json.RawMessage, extra ...pair) error {
	fields, err := fieldsOf(raw)
	if err != nil {
		return err
	}
	a.printPairs(append(fields, extra...))
	return nil
}

func (a *cli) printPairs(pairs []pair) {
	widest := 0
	for _, p := range pairs {
		widest = max(widest, columns(p.name))
	}
	colours := a.coloured()
	for _, p := range pairs {
		value := indented(p.value, strings.Repeat(" ", widest+len(gap)))
		if p.name == stateName {
			value = styleOf(p.value).paint(value, colours)
		}
		a.printf("%s%*s%s%s", dim.paint(p.name, colours), widest-columns(p.name), "", gap, value)
	}
}
