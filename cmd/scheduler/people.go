package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/internal/mysql"
	"github.com/elasticjob-go/elasticjob/registry/database"
	"github.com/elasticjob-go/elasticjob/registry/embedded"
)

// people are users and API tokens, where a command finds them: in the registry, or behind a running server's socket.
type people interface {
	Users(ctx context.Context) ([]auth.Account, error)
	AddUser(ctx context.Context, name, password string, grant auth.Grant) error
	ChangeUser(ctx context.Context, name string, grant auth.Grant) error
	SetPassword(ctx context.Context, name, password string) error
	EndLogins(ctx context.Context, name string) error
	ReplaceKeys(ctx context.Context) error
	RemoveUser(ctx context.Context, name string) error
	Tokens(ctx context.Context) ([]auth.APIToken, error)
	AddToken(ctx context.Context, name string, grant auth.Grant, expires time.Time) (token string, err error)
	RemoveToken(ctx context.Context, name string) error
}

// withPeople has work done on the users and tokens that the flags name. First says that it may make the first one:
// else nothing is made where nothing is.
func withPeople(ctx context.Context, c *config, first bool, work func(people) error) (err error) {
	if !c.elected() {
		if conn, err := net.Dial("unix", adminSocket(c.dataDir)); err == nil {
			_ = conn.Close() // it was only to see whether somebody listens
			return work(newSocketPeople(adminSocket(c.dataDir)))
		} else if errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("%s: a server of another user listens there: run this command as that user, or as root",
				adminSocket(c.dataDir))
		}
		if err := checkDataDir(c.dataDir, first); err != nil {
			return err
		}
		if first {
			if err := makeDataFolder(c.dataDir); err != nil {
				return err
			}
		}
	}
	soon, cancel := context.WithTimeout(ctx, registryPatience)
	defer cancel()
	if c.registry.db != "" {
		// A database with a name that was mistyped gets no tables.
		if err := database.Look(soon, c.registry.options()); err != nil {
			return err
		}
	}
	reg, err := openRegistry(*c, slog.New(slog.DiscardHandler))
	var inUse *embedded.InUse
	if errors.As(err, &inUse) {
		return fmt.Errorf("%w; if it is a server, it does not listen on %s (yet, or because that path is too long): try again, or stop it first", inUse, adminSocket(c.dataDir))
	}
	if err != nil {
		return err
	}
	defer closing(&err, reg.Close)
	there, err := auth.Exists(soon, reg)
	if err != nil {
		return err
	}
	if !there && !first {
		return fmt.Errorf("there are no users and no tokens in %s yet: scheduler user add NAME --role admin makes the first", c.place())
	}
	access, err := auth.New(auth.Options{Shared: reg})
	if err != nil {
		return err
	}
	if err := access.Refresh(ctx); err != nil {
		return err
	}
	host, _ := os.Hostname() // an audit row without it still says who
	return work(registryPeople{access, event.Actor{Name: userName(os.Geteuid()), Kind: string(auth.Machine),
		From: host}})
}

// registryPatience is for how long a command waits for a registry that does not answer: somebody waits at a terminal.
const registryPatience = 20 * time.Second

// place says where users and tokens are kept.
func (c *config) place() string {
	switch {
	case c.registry.db != "":
		return "the registry in the database " + mysql.Name(string(c.registry.db))
	case c.zk != "":
		return fmt.Sprintf("%s of ZooKeeper %s", c.registryRoot(), c.zk)
	}
	return c.dataDir
}

// checkDataDir refuses to have root make files in a folder of another user, whose server could not open them, and a
// folder that holds no registry where none is to be made.
func checkDataDir(folder string, first bool) error {
	info, err := os.Stat(folder)
	if err == nil {
		if owner, ok := info.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 && owner.Uid != 0 {
			return fmt.Errorf("%s belongs to %s: run this command as that user, so that the files in it do", folder,
				userName(int(owner.Uid)))
		}
		_, err = os.Stat(filepath.Join(folder, "registry.db"))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && first:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no registry in %s: name the server's folder with --data-dir, or its registry with --zk or --registry; scheduler user add NAME --role admin makes the first user", folder)
	}
	return err
}

// registryPeople are those of a registry that this process has open.
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
