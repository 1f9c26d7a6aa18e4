package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/elasticjob-go/elasticjob/client"
	"github.com/elasticjob-go/elasticjob/internal/release"
)

// cli is shared by all commands: the streams, the common flags and the environment.
type cli struct {
	in       io.Reader
	out, err io.Writer
	getenv   func(string) string
	now      func() time.Time
	zone     *time.Location
	// waitDelay is how long a watched run must wait before the reason is printed.
	waitDelay time.Duration

	// The flags of all commands.
	context, server, ca, output string

	// parsed is set once the command line has been parsed.
	parsed bool
	// several is set if the command has several names and so prints several documents. printed is set after the first.
	several, printed bool
}

func newCLI() *cli {
	return &cli{in: os.Stdin, out: os.Stdout, err: &lockedWriter{w: os.Stderr}, getenv: os.Getenv, now: time.Now,
		zone: time.Local, waitDelay: 3 * time.Second}
}

// run runs a command line and returns the exit status.
func (a *cli) run(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !a.parsed {
		err = usage(err)
	}
	return a.report(cmd, err)
}

func (a *cli) root() *cobra.Command {
	root := group("elasticjob", "Apps, jobs and runs of an elasticjob scheduler",
		`elasticjob talks to a scheduler: it publishes apps, registers and triggers jobs, and shows runs.

The server is the first of these that is set:
  --server URL, --context NAME, $ELASTICJOB_SERVER, $ELASTICJOB_CONTEXT,
  the context in use ("elasticjob context use NAME"), `+client.DefaultServer+`
A context is a server with a token, kept in a file that only you can read.
$ELASTICJOB_TOKEN is a token for the server; the token of a context named by --context takes precedence.

Exit status:
`+statusHelp)
	root.Version = release.Version()
	root.SetVersionTemplate(release.Text("elasticjob"))
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usage(suggestFlag(cmd, err)) })
	flags := root.PersistentFlags()
	flags.StringVar(&a.server, "server", "", "the server's `URL`, such as https://jobs.example.com")
	flags.StringVar(&a.context, "context", "", "the `NAME` of the context whose server is used")
	flags.StringVar(&a.ca, "ca", "",
		"a `FILE` with the authority (PEM) that signed the server's certificate (ELASTICJOB_CA)")
	flags.StringVarP(&a.output, "output", "o", "table",
		"the `FORM`: table, json or yaml; the last two are the server's answers as they are")
	a.complete(root, "context", contextSource(a))
	completeWords(root, "output", outputs...)
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if err := a.checkOutput(); err != nil {
			return err
		}
		a.parsed = true
		return nil
	}
	root.AddCommand(a.appCommand(), a.jobCommand(), a.runCommand(), a.logsCommand(), a.agentCommand(), a.topCommand(),
		a.contextCommand(), a.loginCommand(), a.logoutCommand(), a.versionCommand())
	root.AddCommand(a.applyCommand(), a.diffCommand(), a.exportCommand(), a.importCommand())
	return root
}

// group returns a command that only has subcommands.
func group(use, short, long string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Long: long, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			message := fmt.Sprintf("%s has no command %q", cmd.CommandPath(), args[0])
			if meant := nearCommand(cmd, args[0]); meant != "" {
				message += fmt.Sprintf("; did you mean %s?", meant)
			} else {
				message += fmt.Sprintf("; see %s --help", cmd.CommandPath())
			}
			return usage(errors.New(message))
		}}
	cmd.SuggestionsMinimumDistance, cmd.DisableFlagsInUseLine = 2, true
	cmd.AddCommand(commands...)
	return cmd
}

// connect returns a client of the target server.
func (a *cli) connect() (*client.Client, error) {
	t, err := a.target()
	if err != nil {
		return nil, err
	}
	c, err := t.client(func(err error) { a.note("waiting for the server, up to two minutes: " + errorText(err)) })
	if err != nil {
		return nil, usage(err)
	}
	return c, nil
}

// withServer returns a function for cobra that calls work with a client of the target server.
func (a *cli) withServer(
	work func(ctx context.Context, c *client.Client, args []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := a.connect()
		if err != nil {
			return err
		}
		defer c.Close()
		return work(cmd.Context(), c, args)
	}
}

// printf prints a line for users. It prints nothing if JSON or YAML is requested.
func (a *cli) printf(format string, args ...any) {
	if a.output == "table" {
		fmt.Fprintf(a.out, format+"\n", args...)
	}
}

// note prints a note to standard error, so that standard output has only what was requested. It prints nothing if text
// is empty.
func (a *cli) note(text string) {
	if text != "" {
		fmt.Fprintln(a.err, "note: "+clean(inCommands(text)))
	}
}

func (a *cli) notes(texts []string) {
	for _, text := range texts {
		a.note(text)
	}
}
