package users

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
)

func userCommand() *cobra.Command {
	var p accountCommand
	parent := p.parent("user", "Add, change, remove and list the users of the API",
		`user manages the users of the API and their roles. The roles are
admin (all), operator (trigger, pause, resume, enable, disable, kill), viewer (read) and metrics (/metrics only), for
all apps or, with --apps, for those that patterns such as billing-* name.

The first user closes the API: from then on everyone has to log in.

  scheduler user add ann --role admin --data-dir DIR            a server that runs with --local or --mesos, or none yet
  scheduler user add ann --role admin --zk h1:2181,h2:2181      servers with --zk
  scheduler user add ann --role admin --registry-file FILE      servers with --registry

Give the server's own flags (or `+settings.EnvPrefix+
			`…): only those that locate its registry have an effect. The password is
asked for twice on a terminal, and otherwise read from standard input as one line.`)
	add := p.named("add NAME", "Add a user; the first one closes the API", p.add)
	p.grantFlags(add.Flags())
	set := p.named("set NAME", "Change a user's role or apps, which ends the user's logins", p.set)
	p.grantFlags(set.Flags())
	set.Flags().BoolVar(&p.allApps, "all-apps", false, "make the role apply to all apps")
	logoutAll := &cobra.Command{Use: "logout-all",
		Short: "End all logins of all users, and replace the keys that they were signed with", SilenceErrors: true,
		SilenceUsage: true,
		Args:         cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return p.logoutAll(cmd) }}
	p.prepare(logoutAll)
	parent.AddCommand(add, set, logoutAll,
		p.named("passwd NAME", "Change a user's password, which ends the user's logins", p.passwd),
		p.named("logout NAME", "End all logins of a name, those through OpenID too", p.logout),
		p.named("rm NAME", "Remove a user, which ends the user's logins", p.remove),
		p.list("List the users", p.listUsers))
	return parent
}

func (p *accountCommand) add(cmd *cobra.Command, name string) error {
	grant, err := p.grant()
	if err != nil {
		return err
	}
	// The password is asked for first, because opening the registry may create it.
	password, err := askPassword(cmd.Context(), cmd.InOrStdin(), cmd.ErrOrStderr(), name)
	if err == nil {
		err = auth.CheckName(name).And(auth.CheckNewPassword(password)).OrNil()
	}
	if err != nil {
		return err
	}
	return withAccounts(cmd.Context(), &p.config, true, func(all accounts) error {
		users, err := all.Users()
		if err != nil {
			return err
		}
		if find(users, name) != nil {
			return fmt.Errorf("the user %s already exists: scheduler user set and scheduler user passwd change users",
				name)
		}
		if _, err := all.AddUser(cmd.Context(), localActor(), name, password, grant); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "user %s added: %s\n", name, describe(grant))
		if len(users) == 0 {
			p.warnOtherServers(cmd, all)
			if grant.Role != auth.Admin || !grant.Unrestricted() {
				fmt.Fprintln(cmd.ErrOrStderr(),
					"There is no admin for all apps yet: scheduler user add NAME --role admin creates one.")
			}
			fmt.Fprintln(cmd.ErrOrStderr(),
				"From now on a login is needed: curl -H 'Content-Type: application/json' -d '{\"username\":\"NAME\",\"password\":\"…\"}' http(s)://HOST:PORT/api/login")
		}
		return nil
	})
}

// warnOtherServers says which servers require a login now that the first user exists. If the user forgot a flag, the
// intended server is another one, and stays open.
func (p *accountCommand) warnOtherServers(cmd *cobra.Command, all accounts) {
	if _, ok := all.(*auth.Access); !ok {
		return // the running server itself has added the user
	}
	if p.config.Elected() {
		fmt.Fprintf(cmd.ErrOrStderr(),
			"This closes only the servers that use %s: give their --zk and --zk-namespace, or their --registry.\n",
			p.config.RegistryLocation())
		return
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "No server uses %s now: one with another --data-dir stays open.\n",
		p.config.RegistryLocation())
}

func (p *accountCommand) set(cmd *cobra.Command, name string) error {
	changesNothing := p.role == "" && len(p.apps) == 0 && !p.allApps
	contradicts := len(p.apps) > 0 && p.allApps
	if changesNothing || contradicts {
		return errors.New("say what to change: --role ROLE, and --apps PATTERNS or --all-apps")
	}
	return p.withUser(cmd, name, func(all accounts, u *auth.Account) error {
		p.role = cmp.Or(p.role, u.Role.String())
		if len(p.apps) == 0 && !p.allApps {
			p.apps = u.Apps
		}
		grant, err := p.grant()
		if err != nil {
			return err
		}
		if _, err := all.ChangeUser(cmd.Context(), localActor(), name, grant); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "user %s changed: %s\n", name, describe(grant))
		return nil
	})
}

func (p *accountCommand) passwd(cmd *cobra.Command, name string) error {
	return p.withUser(cmd, name, func(all accounts, _ *auth.Account) error {
		password, err := askPassword(cmd.Context(), cmd.InOrStdin(), cmd.ErrOrStderr(), name)
		if err != nil {
			return err
		}
		if err := all.SetPassword(cmd.Context(), localActor(), name, password); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "password of user %s changed: the user has to log in again\n", name)
		return nil
	})
}

func (p *accountCommand) logout(cmd *cobra.Command, name string) error {
	return withAccounts(cmd.Context(), &p.config, false, func(all accounts) error {
		if err := all.EndLogins(cmd.Context(), localActor(), name); err != nil {
			return err
		}
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "all logins of %s ended\n", name)
		return err
	})
}

func (p *accountCommand) logoutAll(cmd *cobra.Command) error {
	return withAccounts(cmd.Context(), &p.config, false, func(all accounts) error {
		if err := all.ReplaceKeys(cmd.Context(), localActor()); err != nil {
			return err
		}
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "all logins ended; API tokens stay valid")
		return err
	})
}

func (p *accountCommand) remove(cmd *cobra.Command, name string) error {
	return p.withUser(cmd, name, func(all accounts, _ *auth.Account) error {
		if err := all.RemoveUser(cmd.Context(), localActor(), name); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "user %s removed\n", name)
		users, err := all.Users()
		if err != nil {
			return err
		}
		tokens, err := all.Tokens()
		if err == nil && len(users) == 0 && len(tokens) == 0 {
			fmt.Fprintln(cmd.ErrOrStderr(),
				"No users and tokens are left: without --api-token-file, servers on a loopback address are open to their machine again.")
		}
		return err
	})
}

// withUser calls work with the user of this name. It returns an error if there is none.
func (p *accountCommand) withUser(cmd *cobra.Command, name string, work func(accounts, *auth.Account) error) error {
	return withAccounts(cmd.Context(), &p.config, false, func(all accounts) error {
		users, err := all.Users()
		if err != nil {
			return err
		}
		u := find(users, name)
		if u == nil {
			return fmt.Errorf("there is no user %q: scheduler user list shows all", name)
		}
		return work(all, u)
	})
}

// find returns the user of this name, or nil.
func find(users []auth.Account, name string) *auth.Account {
	i := slices.IndexFunc(users, func(u auth.Account) bool { return u.Name == name })
	if i < 0 {
		return nil
	}
	return &users[i]
}

func (p *accountCommand) listUsers(cmd *cobra.Command) error {
	return withAccounts(cmd.Context(), &p.config, false, func(all accounts) error {
		users, err := all.Users()
		if err != nil {
			return err
		}
		rows := [][]string{{"NAME", "ROLE", "APPS", "CREATED"}}
		for _, u := range users {
			rows = append(rows, []string{u.Name, u.Role.String(), appsOf(u.Grant), formatTime(u.Created)})
		}
		return show(cmd.OutOrStdout(), p.json, users, rows)
	})
}
