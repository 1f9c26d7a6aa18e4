package users

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
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/adminsocket"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/datafolder"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/lifecycle"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/store"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/registry/database"
	"github.com/elasticjob-go/elasticjob/registry/embedded"
)

// accounts reads and changes users and API tokens. *auth.Access does so in the registry, socketAccounts through the
// admin socket of a running server.
type accounts interface {
	Users() ([]auth.Account, error)
	AddUser(ctx context.Context, actor event.Actor, name, password string, grant auth.Grant) (auth.Account, error)
	ChangeUser(ctx context.Context, actor event.Actor, name string, grant auth.Grant) (auth.Account, error)
	SetPassword(ctx context.Context, actor event.Actor, name, password string) error
	EndLogins(ctx context.Context, actor event.Actor, name string) error
	ReplaceKeys(ctx context.Context, actor event.Actor) error
	RemoveUser(ctx context.Context, actor event.Actor, name string) error
	Tokens() ([]auth.APIToken, error)
	AddToken(ctx context.Context, actor event.Actor, name string, grant auth.Grant, expires time.Time) (token string,
		created auth.APIToken, err error)
	RemoveToken(ctx context.Context, actor event.Actor, name string) error
}

// localActor returns the user who runs this command, as the audit records it.
func localActor() event.Actor {
	host, _ := os.Hostname() // without the host, an audit row still names the user
	return event.Actor{Name: adminsocket.UserName(os.Geteuid()), Kind: string(auth.Machine), From: host}
}

// withAccounts calls work with the users and tokens of the registry that the flags name. If a server of this machine
// has the registry open, work goes through that server. If mayCreate is false, a missing registry, or a registry
// without any user or token, is an error.
func withAccounts(ctx context.Context, c *settings.Config, mayCreate bool, work func(accounts) error) (err error) {
	if !c.Elected() {
		if conn, err := net.Dial("unix", adminsocket.Path(c.DataDir)); err == nil {
			_ = conn.Close() // it only tests whether a server listens
			return work(newSocketAccounts(ctx, adminsocket.Path(c.DataDir)))
		} else if errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("%s: a server of another user listens there: run this command as that user, or as root",
				adminsocket.Path(c.DataDir))
		}
		if err := checkDataDir(c.DataDir, mayCreate); err != nil {
			return err
		}
		if mayCreate {
			if err := datafolder.Make(c.DataDir); err != nil {
				return err
			}
		}
	}
	limited, cancel := context.WithTimeout(ctx, registryTimeout)
	defer cancel()
	if c.Registry.DSN != "" {
		// Probe creates no tables, so that a mistyped name does not turn another database into a registry.
		if err := database.Probe(limited, c.Registry.Options()); err != nil {
			return err
		}
	}
	reg, err := store.Open(c, false, slog.New(slog.DiscardHandler))
	var inUse *embedded.InUse
	if errors.As(err, &inUse) {
		return fmt.Errorf("%w; if it is a server, it does not listen on %s (yet, or because that path is too long): try again, or stop it first", inUse, adminsocket.Path(c.DataDir))
	}
	if err != nil {
		return err
	}
	defer lifecycle.Closing(&err, reg.Close)
	exist, err := auth.Exists(limited, reg)
	if err != nil {
		return err
	}
	if !exist && !mayCreate {
		return fmt.Errorf("there are no users and no tokens in %s yet: scheduler user add NAME --role admin creates the first", c.RegistryLocation())
	}
	access, err := auth.New(auth.Options{Shared: reg})
	if err != nil {
		return err
	}
	if err := access.Refresh(ctx); err != nil {
		return err
	}
	return work(access)
}

// registryTimeout is how long a command waits for a registry that does not answer. It is short because a user waits
// at the terminal.
const registryTimeout = 20 * time.Second

// checkDataDir returns an error if the folder holds no registry and mayCreate is false. It also returns an error if
// root would create files in the folder of another user, because that user's server could not open them.
func checkDataDir(folder string, mayCreate bool) error {
	info, err := os.Stat(folder)
	if err == nil {
		if owner, ok := info.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 && owner.Uid != 0 {
			return fmt.Errorf("%s belongs to %s: run this command as that user, so that new files in it belong to that user too", folder,
				adminsocket.UserName(int(owner.Uid)))
		}
		_, err = os.Stat(filepath.Join(folder, "registry.db"))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && mayCreate:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no registry in %s: name the server's folder with --data-dir, or its registry with --zk or --registry; scheduler user add NAME --role admin creates the first user", folder)
	}
	return err
}
