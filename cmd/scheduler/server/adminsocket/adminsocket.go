// Package adminsocket is where a server that has the registry's file open is spoken to by the commands user and token
// of its machine.
package adminsocket

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/elasticjob-go/elasticjob/api/descriptors"
)

// Path is where the commands user and token speak to a running server that has the registry's file open.
func Path(dataDir string) string { return filepath.Join(dataDir, "admin.sock") }

// mostSocketPath is what Linux takes, 108 bytes with the zero at the end.
const mostSocketPath = 107

// Listen listens for commands of this machine, of root and of the user that this server runs as. What an earlier
// server has left there is stale: the registry's file is open, and one process at a time has it. Its connections are
// the reserve's. Nil without an error: the path is too long, and the log says so.
func Listen(dataDir string, reserve *descriptors.Reserve, log *slog.Logger) (net.Listener, error) {
	path := Path(dataDir)
	if len(path) > mostSocketPath {
		log.Warn("admin socket not made: its path is longer than Linux takes; scheduler user and scheduler token work only while this server does not run; a shorter --data-dir helps",
			"path", path, "bytes", len(path), "most", mostSocketPath)
		return nil, nil
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() != fs.ModeSocket {
		return nil, fmt.Errorf("%s is in the place of this server's socket, and is none: move it away", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove the socket of an earlier server: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s for the commands user and token: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("let nobody else use %s: %w", path, err), l.Close())
	}
	return &ownSocket{Listener: reserve.Listener(l), log: log}, nil
}

// ownSocket takes connections of root and of the process's own user only, whatever the file's mode lets through.
type ownSocket struct {
	net.Listener
	log *slog.Logger
}

// Accept waits for a connection of those users.
func (s *ownSocket) Accept() (net.Conn, error) {
	for {
		conn, err := s.Listener.Accept()
		if err != nil {
			return nil, err
		}
		uid, err := peer(conn)
		if err == nil && (uid == 0 || uid == os.Geteuid()) {
			return ownConn{conn, UserName(uid)}, nil
		}
		_ = conn.Close() // it is not let in, whatever the close says
		s.log.Warn("connection to the admin socket refused", "uid", uid, "error", err)
	}
}

// ownConn is a connection whose other end is known.
type ownConn struct {
	net.Conn
	name string
}

// NetConn is the connection as it was accepted.
func (c ownConn) NetConn() net.Conn { return c.Conn }

// PeerName is the name of the user at the other end.
func (c ownConn) PeerName() string { return c.name }

// peer is the user at the other end of a Unix socket, as the kernel has kept it when it was connected.
func peer(conn net.Conn) (uid int, err error) {
	if outer, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = outer.NetConn()
	}
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return -1, errors.New("no Unix socket")
	}
	raw, err := unixConn.SyscallConn()
	if err != nil {
		return -1, err
	}
	var found *unix.Ucred
	var foundErr error
	err = raw.Control(func(fd uintptr) {
		found,
			foundErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err = errors.Join(err, foundErr); err != nil {
		return -1, err
	}
	return int(found.Uid), nil
}

// UserName is a user's name, or the number where it has none.
func UserName(uid int) string {
	id := strconv.Itoa(uid)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}
