package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/elasticjob-go/elasticjob/client"
	"github.com/elasticjob-go/elasticjob/jobs"
)

var jobFields = []field{
	{flag: "app", name: "appName", zero: "", usage: "the app that it runs on"},
	{flag: "cron", name: "cron", zero: "", usage: "when it fires, as Quartz writes it: '0 0 3 ? * MON-FRI'; empty: on trigger only"},
	{flag: "time-zone", name: "timeZone", zero: "", usage: "the zone of the cron, such as Asia/Shanghai; empty: the server's"},
	{flag: "type", name: "jobExecutionType", zero: "", fallback: "TRANSIENT", usage: "TRANSIENT or DAEMON"},
	{flag: "shards", name: "shardingTotalCount", zero: 0, fallback: 1, usage: "how many shards a run has"},
	{flag: "cpu", name: "cpuCount", zero: 0.0, fallback: 0.1, usage: "CPU of each shard"},
	{flag: "memory", name: "memoryMB", zero: 0.0, fallback: 64.0, usage: "memory of each shard in MB"},
	{flag: "parameter", name: "jobParameter", zero: "", usage: "a parameter for all shards"},
	{flag: "item-parameters", name: "shardingItemParameters", zero: "", usage: "a parameter for each shard: 0=a,1=b,2=c"},
	{flag: "cpu-limit", name: "cpuLimit", zero: 0.0, usage: "on Kubernetes: the most CPU that a shard may use; 0: no limit"},
	{flag: "failover", name: "failover", zero: false, usage: "rerun a shard that was lost with its executor or agent"},
	{flag: "misfire", name: "misfire", zero: false, usage: "queue fires that find the job running, instead of dropping them"},
	{flag: "timeout", name: "timeoutSeconds", zero: 0, usage: "seconds after which a shard is killed; 0: none"},
	{flag: "retries", name: "maxRetries", zero: 0, usage: "how often a failed shard is retried"},
	{flag: "retry-backoff", name: "retryBackoffSeconds", zero: 0, usage: "seconds until a failed shard is retried, each time twice as long; 0: 200 milliseconds"},
	{flag: "kill-grace", name: "killGraceSeconds", zero: 0, usage: "seconds between SIGTERM and SIGKILL; 0: the server's"},
	{flag: "unreachable-after", name: "unreachableSeconds", zero: 0, usage: "seconds of silence of an agent after which its shards are given up; 0: the server's"},
	{flag: "exclusive", name: "exclusive", zero: false, usage: "never run two attempts of a shard at once, not even if an agent is cut off; see --lease"},
	{flag: "lease", name: "leaseSeconds", zero: 0, usage: "seconds for which an exclusive shard runs without an answer of a scheduler; 0: 60"},
	{flag: "keep-failed", name: "keepFailed", zero: 0, usage: "how many working directories of failed attempts each executor keeps; 0: the executors' limit"},
	{flag: "concurrency", name: "jobExecutorServiceHandlerType", zero: "", usage: "how many shards of a daemon an executor runs at once: CPU, SINGLE_THREAD; empty: all"},
	{flag: "error-handler", name: "jobErrorHandlerType", zero: "", usage: "how a failed run is handled: LOG, IGNORE, EMAIL, WECHAT, DINGTALK or WEBHOOK, with their settings in --prop; empty: LOG"},
	{flag: "description", name: "description", zero: "", usage: "for people"},
}

func (a *cli) jobCommand() *cobra.Command {
	names := a.completion(jobNames)
	act := func(use, short, done string, action client.JobAction) *cobra.Command {
		return &cobra.Command{Use: use + " NAME...", Short: short, Args: someArgs("NAME"), ValidArgsFunction: names,
			RunE: a.eachJob(done, func(ctx context.Context, c *client.Client, name string) (client.Answer[client.Job],
				error) {
				return c.ActOnJob(ctx, name, action)
			})}
	}
	remove := &cobra.Command{Use: "delete NAME...", Short: "Deregister jobs; their running shards are killed",
		Args: someArgs("NAME"), ValidArgsFunction: names,
		RunE: a.eachJob("deleted", func(ctx context.Context, c *client.Client, name string) (client.Answer[client.Job],
			error) {
			return c.DeleteJob(ctx, name)
		})}
	show := &cobra.Command{Use: "show NAME", Short: "Show a job's settings and state", Args: oneArg("NAME"),
		RunE: a.withServer(a.showJob), ValidArgsFunction: firstOnly(names)}
	explain := &cobra.Command{Use: "explain NAME",
		Short: "Say what a job does and why, what it waits for, and when it fires", Args: oneArg("NAME"),
		RunE: a.withServer(a.explainJob), ValidArgsFunction: firstOnly(names)}
	return group("job", "Register, change, run and show jobs",
		"A job says when to run an app, in how many shards, and with which resources and parameters.",
		a.writeJobCommand(true), a.writeJobCommand(false), a.listJobsCommand(), show, explain, a.triggerCommand(),
		act("pause", "Make no new runs; running shards continue", "paused", client.Pause),
		act("resume", "End a pause", "resumed", client.Resume),
		act("disable", "Make no new runs, and kill the running shards", "disabled", client.Disable),
		act("enable", "Make runs from now on", "enabled", client.Enable),
		act("shutdown", "Make no new runs; the job is disabled when the running shards have ended", "shutting down",
			client.ShutDown),
		remove)
}

func (a *cli) writeJobCommand(isNew bool) *cobra.Command {
	var file string
	var env, props, unsetEnv, unsetProps []string
	var check bool
	cmd := &cobra.Command{Use: "register [NAME]", Short: "Register a new job", Args: optionalArg("NAME"),
		Example: `  elasticjob job register nightly --app billing --cron '0 0 3 * * ?' --shards 4
  elasticjob job register -f nightly.yaml`}
	if !isNew {
		cmd.Use, cmd.Short = "update [NAME]", "Change the given fields of a job, from its next run on"
		cmd.Example = "  elasticjob job update nightly --cron '0 30 3 * * ?' --env LEVEL=debug"
		cmd.ValidArgsFunction = firstOnly(a.completion(jobNames))
	}
	fieldFlags(cmd, jobFields, &file, isNew)
	flags := cmd.Flags()
	flags.StringArrayVar(&env, "env", nil, "a variable of the job's processes, `NAME=VALUE`; may be given again")
	flags.StringArrayVar(&props, "prop", nil, "a property, `NAME=VALUE`; may be given again")
	flags.BoolVar(&check, "check", false,
		"only report what is wrong, the next fires and whether the shards would fit; "+
			"a script.command.line is looked for in the app's package. Nothing is changed")
	if !isNew {
		flags.StringArrayVar(&unsetEnv, "unset-env", nil,
			"a variable, by its `NAME`, to be removed; may be given again")
		flags.StringArrayVar(&unsetProps, "unset-prop", nil,
			"a property, by its `NAME`, to be removed; may be given again")
	}
	a.complete(cmd, "app", appNames)
	hints := jobs.Hints()
	for _, f := range jobFields {
		if words := hints[f.name].Enum; len(words) > 0 {
			completeWords(cmd, f.flag, slices.DeleteFunc(words, func(word string) bool { return word == "" })...)
		}
	}
	cmd.RunE = a.withServer(func(ctx context.Context, c *client.Client, args []string) error {
		d, err := a.gather(cmd, args, file, "jobName", jobFields)
		if err != nil {
			return err
		}
		name, _ := d["jobName"].(string)
		given := maps.Clone(d)
		if isNew && file == "" {
			d.setFallbacks(jobFields)
		}
		setEnv, err := pairs("env", env)
		if err != nil {
			return err
		}
		setProps, err := pairs("prop", props)
		if err != nil {
			return err
		}
		var stored client.Job
		if !isNew && len(setEnv)+len(setProps)+len(unsetEnv)+len(unsetProps) > 0 {
			answer, err := c.Job(ctx, name)
			if err != nil {
				return a.suggestJob(ctx, c, err, name)
			}
			stored = answer.Value
		}
		d.merge("env", stored.Env, setEnv, unsetEnv)
		d.merge("props", stored.Props, setProps, unsetProps)
		text, err := d.raw()
		if err != nil {
			return err
		}
		if check {
			answer, err := c.CheckJob(ctx, text, !isNew)
			if err != nil {
				return a.suggestJob(ctx, c, err, name)
			}
			if err := a.checkScript(ctx, c, answer.Raw); err != nil {
				return err
			}
			return a.show(answer.Raw, func() error { return a.printCheck(answer.Raw) })
		}
		write, done := c.RegisterJob, "registered"
		if !isNew {
			write, done = c.UpdateJob, "updated"
		}
		answer, err := write(ctx, text)
		if err != nil {
			return a.suggestJob(ctx, c, err, name)
		}
		if isNew {
			a.note(given.defaultsText("each shard", answer.Value.CPUCount, answer.Value.MemoryMB))
		}
		return a.jobDone(answer, done)
	})
	return cmd
}

// checkScript lets the server look for a job's own command in the package of its app. raw is the answer to the check
// of the job. An error says what is wrong with the command. If the server could not look for it, checkScript only
// notes why.
func (a *cli) checkScript(ctx context.Context, c *client.Client, raw json.RawMessage) error {
	var checked struct{ Document client.Job }
	if err := json.Unmarshal(raw, &checked); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	script, _ := checked.Document.Props[jobs.PropScript].(string)
	if script == "" {
		return nil
	}
	app, err := document{"appName": checked.Document.AppName, "bootstrapScript": script}.raw()
	if err != nil {
		return err
	}
	answer, err := c.CheckApp(ctx, app, true)
	if err != nil {
		a.note(jobs.PropScript + " was not looked for in the app's package: " + errorText(err))
		return nil
	}
	refused := &client.Error{Message: "the app's package does not have what " + jobs.PropScript + " names"}
	for _, p := range answer.Value.Problems {
		if p.Field != "bootstrapScript" {
			a.note(jobs.PropScript + " was not looked for in the app's package: " + p.Message)
			continue
		}
		p.Field = "props." + jobs.PropScript
		refused.Fields = append(refused.Fields, p)
	}
	if len(refused.Fields) > 0 {
		return refused
	}
	return nil
}

// jobDone prints what was done to a job, with the server's notes about it.
func (a *cli) jobDone(answer client.Answer[client.Job], done string) error {
	a.notes(answer.Value.Notes)
	return a.show(answer.Raw, func() error { a.printf("job %s %s", answer.Value.JobName, done); return nil })
}

// eachJob returns the function of a command that calls work for each job, and continues after an error.
func (a *cli) eachJob(
	done string, work func(context.Context, *client.Client, string) (client.Answer[client.Job], error),
) func(*cobra.Command, []string) error {
	return a.withServer(func(ctx context.Context, c *client.Client, names []string) error {
		return a.each(names, func(name string) error {
			answer, err := work(ctx, c, name)
			if err != nil {
				return a.suggestJob(ctx, c, err, name)
			}
			return a.jobDone(answer, done)
		})
	})
}
