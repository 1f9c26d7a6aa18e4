package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/elasticjob-go/elasticjob/client"
	"github.com/elasticjob-go/elasticjob/definitions"
)

func (a *cli) contextCommand() *cobra.Command {
	names := firstOnly(a.completion(contextSource(a)))
	return group("context", "Choose between several servers",
		`A context is a named server: its URL, its token and the authority of its certificate. Contexts are stored in
elasticjob/contexts.yaml in your configuration folder, which only you may be able to read (mode 0600).`,
		a.setContextCommand(),
		&cobra.Command{Use: "use NAME", Short: "Use a context from now on", Args: oneArg("NAME"), RunE: a.useContext,
			ValidArgsFunction: names},
		&cobra.Command{Use: "list", Short: "List all contexts", Args: noArgs, RunE: a.listContexts},
		&cobra.Command{Use: "show [NAME]", Short: "Show the server in use, or a context",
			Args: optionalArg("NAME"), RunE: a.showContext, ValidArgsFunction: names},
		&cobra.Command{Use: "delete NAME", Short: "Forget a context", Args: oneArg("NAME"), RunE: a.deleteContext,
			ValidArgsFunction: names})
}

func (a *cli) setContextCommand() *cobra.Command {
	var tokenFile string
	var noToken bool
	cmd := &cobra.Command{Use: "set NAME", Short: "Make a context, or change what is given of it",
		Args: oneArg("NAME"),
		Example: `  elasticjob context set prod --server https://jobs.example.com --token-file token.txt
  elasticjob context set prod --ca our-authority.pem`}
	cmd.Flags().StringVar(&tokenFile, "token-file", "", "a `FILE` with the token; - is standard input")
	cmd.Flags().BoolVar(&noToken, "no-token", false, "forget the token")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		name := args[0]
		var token string
		if tokenFile != "" {
			var err error
			if token, err = a.readToken(tokenFile); err != nil {
				return err
			}
		}
		return a.reportChange(a.updateSettings(func(s *settings) error {
			c := s.Contexts[name]
			if c == nil {
				c = &contextSettings{}
				s.Contexts[name] = c
			}
			if a.server != "" {
				base, err := client.ParseServer(a.server)
				if err != nil {
					return usage(err)
				}
				if c.Server != base.String() {
					c.Server, c.Token = base.String(), "" // the token belongs to the other server
				}
			}
			if c.Server == "" {
				return usagef("context %s is new: say which server it is for, by --server URL", name)
			}
			if a.ca != "" {
				var err error
				if c.CA, err = filepath.Abs(a.ca); err != nil {
					return fmt.Errorf("find %s: %w", a.ca, err)
				}
			}
			if token != "" || noToken {
				c.Token = token
			}
			if s.Current == "" {
				s.Current = name
			}
			return nil
		}), "context %s set", name)
	}
	return cmd
}

// reportChange prints what was done, unless err says that it failed, and returns err.
func (a *cli) reportChange(err error, format string, args ...any) error {
	if err == nil {
		a.printf(format, args...)
	}
	return err
}

// readToken reads a token from a file or standard input. A token is never an argument, because other users of the
// machine can see arguments.
func (a *cli) readToken(file string) (string, error) {
	reader := a.in
	if file != "-" {
		source, err := definitions.ReadFile(file, nil)
		if err != nil {
			return "", usage(err)
		}
		reader = bytes.NewReader(source.Text)
	}
	line, err := bufio.NewReader(io.LimitReader(reader, 1<<16)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", usagef("read the token: %w", err)
	}
	token := strings.TrimSpace(line)
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", usagef("the first line of %s is not a token", file)
	}
	return token, nil
}

func (a *cli) useContext(_ *cobra.Command, args []string) error {
	var server string
	err := a.updateSettings(func(s *settings) error {
		c, ok := s.Contexts[args[0]]
		if !ok {
			return s.unknown(args[0])
		}
		s.Current, server = args[0], c.Server
		return nil
	})
	for _, name := range []string{"ELASTICJOB_SERVER", "ELASTICJOB_CONTEXT"} {
		if value := a.getenv(name); err == nil && value != "" {
			a.note(fmt.Sprintf("%s is %s and takes precedence over the context in use: unset it", name, value))
		}
	}
	return a.reportChange(err, "context %s is in use: %s", args[0], server)
}

func (a *cli) deleteContext(_ *cobra.Command, args []string) error {
	err := a.updateSettings(func(s *settings) error {
		if _, ok := s.Contexts[args[0]]; !ok {
			return s.unknown(args[0])
		}
		delete(s.Contexts, args[0])
		if s.Current == args[0] {
			s.Current = ""
		}
		return nil
	})
	return a.reportChange(err, "context %s deleted", args[0])
}

// contextFacts is the output about a context. It never contains the token.
type contextFacts struct {
	Name   string `json:"name"`
	Server string `json:"server"`
	CA     string `json:"ca,omitempty"`
	// Token reports whether the context has a token.
	Token   bool `json:"token"`
	Current bool `json:"current"`
}

func (a *cli) listContexts(*cobra.Command, []string) error {
	s, err := a.readSettings()
	if err != nil {
		return err
	}
	all := []contextFacts{}
	t := &table{columns: []column{{title: ""}, {title: "NAME", minWidth: 8}, {title: "SERVER", minWidth: 16},
		{title: "TOKEN"}, {title: "CA", minWidth: 8}}}
	for _, name := range s.names() {
		c := s.Contexts[name]
		all = append(all, contextFacts{name, c.Server, c.CA, c.Token != "", name == s.Current})
		marks := map[bool]string{true: "*"}
		t.add(text(marks[name == s.Current]), text(name), text(c.Server),
			text(map[bool]string{true: "yes", false: "no"}[c.Token != ""]), text(c.CA))
	}
	return a.showOwn(all, func() error {
		return a.print(t, `there are no contexts; "elasticjob context set NAME --server URL" makes one`)
	})
}

func (a *cli) showContext(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		if a.context != "" && a.context != args[0] {
			return usagef("--context %s and %s: which one?", a.context, args[0])
		}
		a.context = args[0]
	}
	t, err := a.target()
	if err != nil {
		return err
	}
	return a.showOwn(contextFacts{t.context, t.server, t.ca, t.token != "", t.context != ""}, func() error {
		pairs := []pair{{"server", t.server}, {"context", t.context}, {"ca", t.ca},
			{"token", map[bool]string{true: "yes", false: "no"}[t.token != ""]}}
		if t.context == "" {
			pairs[1].value = "none"
		}
		if t.ca == "" {
			pairs[2].value = "the system's"
		}
		a.printPairs(pairs)
		return nil
	})
}
