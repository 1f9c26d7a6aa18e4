package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/elasticjob-go/elasticjob/client"
)

func (a *cli) loginCommand() *cobra.Command {
	var user string
	cmd := &cobra.Command{Use: "login", Short: "Log in with a user and a password, and keep the token in the context",
		Args: noArgs,
		Long: `login asks for a password on the terminal, or reads it from standard input, and stores the token in the context. A server without a
context gets one with the name of its host. Machines use API tokens instead of a login.`,
		Example: `  elasticjob login --server https://jobs.example.com --user ann`}
	cmd.Flags().StringVarP(&user, "user", "u", "", "the user's name; it is asked for otherwise")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		t, err := a.target()
		if err != nil {
			return err
		}
		t.token = "" // the server would reject the request because of an expired token
		c, err := t.client(nil)
		if err != nil {
			return usage(err)
		}
		defer c.Close()
		if t.context == "" {
			if t.context, err = a.freeContext(c.Server()); err != nil {
				return err
			}
		}
		ways, err := c.Logins(cmd.Context())
		switch {
		case err != nil:
			return err
		case !ways.Value.Password && ways.Value.OpenID:
			return &exitError{statusRefused,
				fmt.Errorf("%s has no passwords, but logins with a browser: use an API token, in ELASTICJOB_TOKEN or by \"elasticjob context set NAME --token-file FILE\"", c.Server())}
		case !ways.Value.Password:
			a.printf("%s has no users: no login is needed on its own machine", c.Server())
			return nil
		}
		name, password, err := a.credentials(cmd.Context(), user, c.Server())
		if err != nil {
			return err
		}
		token, err := c.Login(cmd.Context(), name, password)
		if err != nil {
			return err
		}
		ca := t.ca
		if ca != "" {
			if ca, err = filepath.Abs(ca); err != nil {
				return fmt.Errorf("find %s: %w", t.ca, err)
			}
		}
		return a.reportChange(a.updateSettings(func(s *settings) error {
			s.Contexts[t.context] = &contextSettings{Server: c.Server(), Token: token, CA: ca}
			s.Current = cmp.Or(s.Current, t.context)
			return nil
		}), "%s is logged in at %s; context %s holds the token", name, c.Server(), t.context)
	}
	return cmd
}

// freeContext returns the name for a new context of the server. It returns an error if that name belongs to a context
// of another server, because the token of that context would be lost.
func (a *cli) freeContext(server string) (string, error) {
	s, err := a.readSettings()
	if err != nil {
		return "", err
	}
	name := hostOf(server)
	if other := s.Contexts[name]; other != nil && other.Server != server {
		return "", usagef("context %s is of %s: \"elasticjob context set NAME --server %s\" makes another one, for \"elasticjob login --context NAME\"", name, other.Server, server)
	}
	return name, nil
}

// hostOf returns the default name of a server's context.
func hostOf(server string) string {
	if u, err := url.Parse(server); err == nil {
		return u.Host
	}
	return server
}

func (a *cli) logoutCommand() *cobra.Command {
	return &cobra.Command{Use: "logout", Short: "End the login, and forget its token", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := a.target()
			if err != nil {
				return err
			}
			if t.token == "" {
				return &exitError{statusConflict,
					fmt.Errorf("there is no token for %s: you are not logged in", t.server)}
			}
			c, err := t.client(nil)
			if err != nil {
				return usage(err)
			}
			defer c.Close()
			// If the server has already ended the login, its token must still be removed from the context.
			var refused *client.Error
			if err := c.Logout(cmd.Context()); err != nil &&
				!(errors.As(err, &refused) && refused.Status == http.StatusUnauthorized) {
				return err
			}
			if t.context == "" {
				a.printf("logged out of %s; the token is still in ELASTICJOB_TOKEN: unset it", t.server)
				return nil
			}
			return a.reportChange(a.updateSettings(func(s *settings) error {
				if c := s.Contexts[t.context]; c != nil && c.Token == t.token {
					c.Token = ""
				}
				return nil
			}), "logged out of %s", t.server)
		}}
}

// maxPassword is more than the longest password that a server accepts, in bytes.
const maxPassword = 4096

// credentials asks for the password, and for the user unless the command line names it. A password is never an
// argument, because other users of the machine can see arguments.
func (a *cli) credentials(ctx context.Context, user, server string) (name, password string, err error) {
	keys, isTerminal := terminal(a.in)
	lines := bufio.NewReader(io.LimitReader(a.in, 2*maxPassword))
	if name = user; name == "" {
		if !isTerminal {
			return "", "", usagef("no user: give --user NAME")
		}
		fmt.Fprintf(a.err, "User at %s: ", server)
		if name, err = awaitInput(ctx, func() (string, error) { return lines.ReadString('\n') }); err != nil {
			return "", "", err
		}
	}
	if isTerminal {
		password, err = a.readPassword(ctx, keys, "Password: ")
	} else {
		password, err = awaitInput(ctx, func() (string, error) { return lines.ReadString('\n') })
	}
	if password == "" && err == nil {
		err = usagef("there is no password: type it, or write it to standard input as one line")
	}
	return name, password, err
}

// awaitInput returns the line that read returns, without its line end, or the error of ctx when that ends first.
func awaitInput(ctx context.Context, read func() (string, error)) (string, error) {
	type answer struct {
		line string
		err  error
	}
	answers := make(chan answer, 1)
	go func() { // blocks until the process ends if the user enters nothing
		line, err := read()
		answers <- answer{line, err}
	}()
	select {
	case got := <-answers:
		if got.err != nil && !errors.Is(got.err, io.EOF) {
			return "", fmt.Errorf("read from standard input: %w", got.err)
		}
		return strings.TrimRight(got.line, "\r\n"), nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// readPassword reads a line without echo. When ctx ends, it restores the state of the terminal.
func (a *cli) readPassword(ctx context.Context, keys *os.File, question string) (string, error) {
	fd := int(keys.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("ask for the password: %w", err)
	}
	fmt.Fprint(a.err, question)
	line, err := awaitInput(ctx, func() (string, error) {
		text, err := term.ReadPassword(fd)
		return string(text), err
	})
	fmt.Fprintln(a.err)
	if ctx.Err() != nil {
		err = errors.Join(err, term.Restore(fd, before))
	}
	return line, err
}
