package users

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func tokenCommand() *cobra.Command {
	var p accountCommand
	parent := p.parent("token", "Add, remove and list the API tokens of machines",
		`token manages API tokens: a role, for all apps or some, for a machine that sends it as
Authorization: Bearer TOKEN. A token is shown once, when it is created, and stored as a hash.

  TOKEN=$(scheduler token add ci --role operator --apps 'billing-*' --expires 90d --data-dir DIR)

Give the server's own flags, as with scheduler user.`)
	add := p.command("add NAME", "Create a token and print it once", p.addToken)
	p.grantFlags(add.Flags())
	add.Flags().StringVar(&p.expires, "expires", "",
		"the lifetime of the token: days as 90d, or a duration such as 12h (default: unlimited)")
	parent.AddCommand(add,
		p.command("rm NAME", "Remove a token, which then is no longer valid", p.removeToken),
		p.list("List the tokens, without their secrets", p.tokens))
	return parent
}

func (p *accountCommand) addToken(cmd *cobra.Command, name string) error {
	grant, err := p.grant()
	if err != nil {
		return err
	}
	var expires time.Time
	if p.expires != "" {
		lasts, err := parseLifetime(p.expires)
		if err != nil {
			return fmt.Errorf("--expires %q: %w", p.expires, err)
		}
		expires = time.Now().Add(lasts).UTC().Truncate(time.Second)
	}
	return withAccounts(cmd.Context(), &p.config, true, func(all accounts) error {
		token, _, err := all.AddToken(cmd.Context(), localActor(), name, grant, expires)
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "token %s added: %s; it expires: %s. It is shown only once:\n", name,
			describe(grant), moment(expires))
		_, err = fmt.Fprintln(cmd.OutOrStdout(), token)
		return err
	})
}

func (p *accountCommand) removeToken(cmd *cobra.Command, name string) error {
	return withAccounts(cmd.Context(), &p.config, false, func(all accounts) error {
		if err := all.RemoveToken(cmd.Context(), localActor(), name); err != nil {
			return err
		}
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "token %s removed\n", name)
		return err
	})
}

func (p *accountCommand) tokens(cmd *cobra.Command) error {
	return withAccounts(cmd.Context(), &p.config, false, func(all accounts) error {
		tokens, err := all.Tokens()
		if err != nil {
			return err
		}
		rows := [][]string{{"NAME", "ROLE", "APPS", "CREATED", "EXPIRES", "BY"}}
		for _, t := range tokens {
			rows = append(rows, []string{t.Name, t.Role.String(), appsOf(t.Grant), moment(t.Created),
				moment(t.Expires), t.By})
		}
		return show(cmd.OutOrStdout(), p.json, tokens, rows)
	})
}

// maxLifetime is the longest lifetime of a token. It is more than any token needs, and expiry times stay in
// range.
const maxLifetime = 100 * 365 * 24 * time.Hour

// parseLifetime parses a number of days such as 90d, or Go's format.
func parseLifetime(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		d = time.Duration(min(n, 100_000)) * 24 * time.Hour
	}
	if err != nil || d <= 0 || d > maxLifetime {
		return 0, errors.New("must be days as 90d or a duration such as 12h, up to 36500d")
	}
	return d, nil
}
