package users

import (
	"context"
	"time"

	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/history/event"
)

// registryPeople works on a registry that this process has open.
type registryPeople struct {
	access *auth.Access
	actor  event.Actor
}

func (p registryPeople) Users(context.Context) ([]auth.Account, error) { return p.access.Users() }

func (p registryPeople) AddUser(ctx context.Context, name, password string, grant auth.Grant) error {
	_, err := p.access.AddUser(ctx, p.actor, name, password, grant)
	return err
}

func (p registryPeople) ChangeUser(ctx context.Context, name string, grant auth.Grant) error {
	_, err := p.access.ChangeUser(ctx, p.actor, name, grant)
	return err
}

func (p registryPeople) SetPassword(ctx context.Context, name, password string) error {
	return p.access.SetPassword(ctx, p.actor, name, password)
}

func (p registryPeople) EndLogins(ctx context.Context, name string) error {
	return p.access.EndLogins(ctx, p.actor, name)
}

func (p registryPeople) ReplaceKeys(ctx context.Context) error {
	return p.access.ReplaceKeys(ctx, p.actor)
}

func (p registryPeople) RemoveUser(ctx context.Context, name string) error {
	return p.access.RemoveUser(ctx, p.actor, name)
}

func (p registryPeople) Tokens(context.Context) ([]auth.APIToken, error) { return p.access.Tokens() }

func (p registryPeople) AddToken(ctx context.Context, name string, grant auth.Grant, expires time.Time) (string,
	error) {
	token, _, err := p.access.AddToken(ctx, p.actor, name, grant, expires)
	return token, err
}

func (p registryPeople) RemoveToken(ctx context.Context, name string) error {
	return p.access.RemoveToken(ctx, p.actor, name)
}
