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
		`token manages API tokens. A token gives a role, for all apps or some, to a machine that sends it as
Authorization: Bearer TOKEN. It is shown once, when it is created, and stored as a hash.

  TOKEN=$(scheduler token add ci --role operator --apps 'billing-*' --expires 90d --data-dir DIR)

Give the server's own flags, as with scheduler user.`)
	add := p.named("add NAME", "Create a token and print it once", p.addToken)
	p.grantFlags(add.Flags())
	add.Flags().StringVar(&p.expires, "expires", "",
		"the lifetime of the token: days as 90d, or a duration such as 12h (default: unlimited)")
	parent.AddCommand(add,
		p.named("rm NAME", "Remove a token, which then is no longer valid", p.removeToken),
		p.list("List the tokens, without their secrets", p.listTokens))
	return parent
}

func (p *accountCommand) addToken(cmd *cobra.Command, name string) error {
	grant, err := p.grant()
	if err != nil {
		return err
	}
	var expires time.Time
	if p.expires != "" {
		lifetime, err := parseLifetime(p.expires)
		if err != nil {
			return fmt.Errorf("--expires %q: %w", p.expires, err)
		}
		expires = time.Now().Add(lifetime).UTC().Truncate(time.Second)
	}
	return withAccounts(cmd.Context(), &p.config, true, func(all accounts) error {
		token, _, err := all.AddToken(cmd.Context(), localActor(), name, grant, expires)
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "token %s added: %s; it expires: %s. It is shown only once:\n", name,
			describe(grant), formatTime(expires))
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

func (p *accountCommand) listTokens(cmd *cobra.Command) error {
	return withAccounts(cmd.Context(), &p.config, false, func(all accounts) error {
		tokens, err := all.Tokens()
		if err != nil {
			return err
		}
		rows := [][]string{{"NAME", "ROLE", "APPS", "CREATED", "EXPIRES", "BY"}}
		for _, t := range tokens {
			rows = append(rows, []string{t.Name, t.Role.String(), appsOf(t.Grant), formatTime(t.Created),
				formatTime(t.Expires), t.By})
		}
		return show(cmd.OutOrStdout(), p.json, tokens, rows)
	})
}

// maxLifetime is the longest lifetime of a token that has an expiry. The bound keeps expiry times in the range that
// JSON can represent.
const maxLifetime = 100 * 365 * 24 * time.Hour

// parseLifetime parses a number of days such as 90d, or a duration in Go's format. It must be more than 0 and at most
// maxLifetime.
func parseLifetime(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		d = time.Duration(max(0, min(n, 100_000))) * 24 * time.Hour // neither overflows, and both are refused below
	}
	if err != nil || d <= 0 || d > maxLifetime {
		return 0, errors.New("must be days as 90d or a duration such as 12h, up to 36500d")
	}
	return d, nil
}
