package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/elasticjob-go/elasticjob/client"
)

func (a *cli) agentCommand() *cobra.Command {
	return group("agent", "List agents, and take machines out of use",
		"A machine is named by the host name of its agent (on Kubernetes, its node), or by the id of that agent.",
		&cobra.Command{Use: "list [TEXT]", Short: "List agents and cordoned machines", Args: optionalArg("TEXT"),
			RunE: a.withServer(a.listAgents)},
		a.cordonCommand(), a.drainCommand(), a.deadCommand(),
		&cobra.Command{Use: "uncordon HOST|AGENT...", Short: "Use machines again",
			Args: someArgs("the machine"), ValidArgsFunction: a.completion(cordonedMachines),
			RunE: a.withServer(func(ctx context.Context, c *client.Client, args []string) error {
				return a.each(args, func(machine string) error {
					answer, err := c.Uncordon(ctx, machine)
					if err != nil {
						return err
					}
					return a.show(answer.Raw, func() error {
						a.printf("machine %s is used again", answer.Value.Machine)
						return nil
					})
				})
			})})
}

// cordonFlags are the flags of the commands that cordon a machine.
type cordonFlags struct {
	request client.CordonRequest
	until   string
}

// add adds the flags to a command.
func (f *cordonFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.request.Reason, "reason", "", "why, for everyone whose shards could run there (required)")
	flags.StringVar(&f.until, "until", "",
		"when it ends by itself: a time (RFC 3339), or a duration from now: 30m, 24h")
	flags.BoolVar(&f.request.Force, "force", false, "also a host that the server has not seen")
}

// read checks the flags and returns the request.
func (f *cordonFlags) read(now time.Time) (client.CordonRequest, error) {
	var wrong []string
	if strings.TrimSpace(f.request.Reason) == "" {
		wrong = append(wrong, "--reason is missing: say for the others why the machine is not to be used")
	}
	until, err := time.Parse(time.RFC3339, f.until)
	if d, notDuration := time.ParseDuration(f.until); notDuration == nil && d > 0 {
		until, err = now.Add(d).UTC().Truncate(time.Second), nil
	}
	if f.until != "" && err != nil {
		wrong = append(wrong, fmt.Sprintf(
			"--until %s: must be a time such as 2026-05-01T12:00:00Z, or a duration such as 30m", f.until))
	}
	switch {
	case len(wrong) > 0:
		return f.request, usagef("%s", strings.Join(wrong, "; "))
	case f.until == "":
		return f.request, nil
	}
	f.request.Until = &until
	return f.request, nil
}

func (a *cli) cordonCommand() *cobra.Command {
	var flags cordonFlags
	cmd := &cobra.Command{Use: "cordon HOST|AGENT... --reason TEXT", DisableFlagsInUseLine: true,
		Short: "Place nothing new on machines", Args: someArgs("the machine"),
		Long:              "Nothing new is placed on a cordoned machine; running shards go on. The mark stays until uncordon or --until.",
		Example:           `  elasticjob agent cordon node-1 --reason 'its disk fails' --until 24h`,
		ValidArgsFunction: a.completion(machineNames)}
	flags.add(cmd)
	cmd.RunE = a.withServer(func(ctx context.Context, c *client.Client, args []string) error {
		request, err := flags.read(a.now())
		if err != nil {
			return err
		}
		return a.each(args, func(machine string) error {
			answer, err := c.Cordon(ctx, machine, request)
			if err != nil {
				return err
			}
			return a.show(answer.Raw, func() error {
				a.printf("machine %s is cordoned", answer.Value.Machine)
				return nil
			})
		})
	})
	return cmd
}

// maxDeadline is the longest deadline of a drain that the server takes.
const maxDeadline = 720 * time.Hour

func (a *cli) drainCommand() *cobra.Command {
	var flags cordonFlags
	var deadline string
	cmd := &cobra.Command{Use: "drain HOST|AGENT... --reason TEXT", DisableFlagsInUseLine: true,
		Short: "Empty machines: place nothing new there, and move or end their tasks", Args: someArgs("the machine"),
		Long: "Shards of daemons move one at a time, when there is room elsewhere; others may finish until the deadline. The\n" +
			"rest is stopped then, and runs again elsewhere. \"agent list\" shows the remaining tasks. \"agent uncordon\" ends the drain.",
		Example:           `  elasticjob agent drain node-1 --reason 'kernel update' --deadline 1h`,
		ValidArgsFunction: a.completion(machineNames)}
	flags.add(cmd)
	cmd.Flags().StringVar(&deadline, "deadline", "", "after what time the rest is stopped: 30m, 24h; never without it")
	cmd.RunE = a.withServer(func(ctx context.Context, c *client.Client, args []string) error {
		request, err := flags.read(a.now())
		if err != nil {
			return err
		}
		drain := client.DrainRequest{CordonRequest: request}
		if cmd.Flags().Changed("deadline") {
			d, err := time.ParseDuration(deadline)
			if err != nil || d < time.Second || d > maxDeadline {
				return usagef("--deadline %s: must be a duration from 1s to 720h, such as 30m", deadline)
			}
			drain.DeadlineSeconds = int(d / time.Second)
		}
		return a.each(args, func(machine string) error {
			answer, err := c.Drain(ctx, machine, drain)
			if err != nil {
				return err
			}
			return a.show(answer.Raw, func() error {
				a.printf("machine %s is cordoned, and drains", answer.Value.Machine)
				a.printLeft(answer.Value)
				return nil
			})
		})
	})
	return cmd
}

// printLeft prints the tasks that remain on a machine that is drained, each with the reason why it remains.
func (a *cli) printLeft(m client.Machine) {
	if m.Cordon == nil || m.Cordon.Drain == nil {
		return
	}
	d := m.Cordon.Drain
	for _, left := range d.Left {
		a.printf("  %s: shard %d of %s: %s", clean(m.Machine), left.Item, clean(left.JobName), clean(left.Reason))
	}
	if more := d.LeftTotal - len(d.Left); more > 0 {
		a.printf("  %s: and %d more", clean(m.Machine), more)
	}
}

func (a *cli) deadCommand() *cobra.Command {
	var request client.DeadRequest
	cmd := &cobra.Command{Use: "dead HOST|AGENT... [--reason TEXT]", DisableFlagsInUseLine: true,
		Short: "State that machines are gone for good: all attempts there are over",
		Long: "All attempts on the machine are over at once: shards of daemons and of jobs with failover run elsewhere, others are\n" +
			"lost. It is refused if the machine was heard from within the last minute. The machine stays cordoned.",
		Args: someArgs("the machine"), ValidArgsFunction: a.completion(machineNames)}
	cmd.Flags().StringVar(&request.Reason, "reason", "", "why, for others")
	cmd.Flags().BoolVar(&request.Force, "force", false,
		"also if it was heard from a moment ago: nothing runs on it any more")
	cmd.RunE = a.withServer(func(ctx context.Context, c *client.Client, args []string) error {
		return a.each(args, func(machine string) error {
			answer, err := c.DeclareDead(ctx, machine, request)
			if err != nil {
				return err
			}
			return a.show(answer.Raw, func() error {
				a.printf("machine %s is dead, attempts over: %d; it stays cordoned", answer.Value.Machine.Machine,
					answer.Value.AttemptsOver)
				return nil
			})
		})
	})
	return cmd
}

func (a *cli) listAgents(ctx context.Context, c *client.Client, args []string) error {
	search := strings.Join(args, "")
	var all client.Cluster
	for page := 1; ; page++ {
		answer, err := c.Cluster(ctx, search, page)
		if err != nil {
			return err
		}
		a.note(answer.Warning)
		all.Agents, all.Machines = append(all.Agents, answer.Value.Agents...), answer.Value.Machines
		if len(answer.Value.Agents) == 0 || len(all.Agents) >= answer.Value.AgentsTotal {
			break
		}
	}
	all.AgentsTotal = len(all.Agents)
	all.Machines = slices.DeleteFunc(all.Machines, func(m client.Machine) bool {
		return !strings.Contains(strings.ToLower(m.Machine), strings.ToLower(search))
	})
	raw, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return a.show(raw, func() error {
		if err := a.print(a.agentTable(all), "no agent matches"); err != nil {
			return err
		}
		for _, m := range all.Machines {
			a.printLeft(m)
		}
		return nil
	})
}

// agentTable lists the agents, and the cordoned machines without a known agent.
func (a *cli) agentTable(all client.Cluster) *table {
	t := &table{columns: []column{{title: "HOST", minWidth: 8}, {title: "STATE"}, {title: "SINCE"},
		{title: "TASKS", right: true}, {title: "AGENT", minWidth: 8}, {title: "NOTE", minWidth: 8}}}
	for _, g := range all.Agents {
		word := "unknown"
		if g.State != nil {
			word = *g.State
		}
		t.add(text(g.Hostname), state(word), text(a.relativeShort(g.Since)), text(fmt.Sprint(g.Tasks)), text(g.ID),
			text(strings.Join(slices.DeleteFunc([]string{a.cordonText(g.Cordon), g.Note},
				func(s string) bool { return s == "" }), "; ")))
	}
	for _, m := range all.Machines {
		if len(m.Agents) == 0 {
			t.add(text(m.Machine), state("CORDONED"), text(a.relativeShort(&m.Cordon.Since)), text(""), text(""),
				text(a.cordonText(m.Cordon)))
		}
	}
	return t
}

// cordonText says who has cordoned a machine, why, and until when; "" if it is not cordoned.
func (a *cli) cordonText(c *client.Cordon) string {
	if c == nil {
		return ""
	}
	said := "cordoned"
	switch d := c.Drain; {
	case c.Dead != nil:
		said = "declared dead"
	case d != nil && d.Drained != nil:
		said = "drained"
	case d != nil:
		said = fmt.Sprintf("drains, %d left", d.LeftTotal)
		if d.Deadline != nil {
			said += ", stopped " + a.relativeShort(d.Deadline)
		}
	}
	if c.By != "" {
		said += " by " + c.By
	}
	if c.Reason != "" {
		said += ": " + c.Reason
	}
	if c.Until != nil {
		said += ", ends " + a.relativeShort(c.Until)
	}
	return said
}

func machineNames(ctx context.Context, c *client.Client, word string) ([]string, error) {
	page, err := c.Cluster(ctx, word, 1)
	var names []string
	for _, g := range page.Value.Agents {
		names = append(names, g.Hostname)
	}
	return names, err
}

func cordonedMachines(ctx context.Context, c *client.Client, _ string) ([]string, error) {
	page, err := c.Cluster(ctx, "", 1)
	var names []string
	for _, m := range page.Value.Machines {
		names = append(names, m.Machine)
	}
	return names, err
}
