// Package adminsocket is the Unix socket of a server whose registry is a file. Only one process can have that file
// open, so the commands user and token on the same machine send their requests to this socket.
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

// Path returns the path of the admin socket of a server with this data folder.
func Path(dataDir string) string { return filepath.Join(dataDir, "admin.sock") }

// maxSocketPath is the maximum length of the path of a Unix socket on Linux, in bytes: 108 with the terminating zero.
const maxSocketPath = 107

// Listen listens on the admin socket, for root and for the user of this process. It removes the socket of an earlier
// server: that server has ended, because this process has the registry's file open. If the process has no other file
// descriptor left, the listener accepts connections with descriptors of the reserve. If the path is too long for a
// socket, Listen logs a warning and returns nil without an error.
func Listen(dataDir string, reserve *descriptors.Reserve, log *slog.Logger) (net.Listener, error) {
	path := Path(dataDir)
	if len(path) > maxSocketPath {
		log.Warn("admin socket not created: path too long; scheduler user and scheduler token work only while this server is stopped; use a shorter --data-dir",
			"path", path, "bytes", len(path), "most", maxSocketPath)
		return nil, nil
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() != fs.ModeSocket {
		return nil, fmt.Errorf("%s has the name of this server's socket and is not a socket: move it away", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove the socket of an earlier server: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s for the commands user and token: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("restrict %s to its owner: %w", path, err), l.Close())
	}
	return &ownSocket{Listener: reserve.Listener(l), log: log}, nil
}

// ownSocket accepts only connections of root and of the process's own user, regardless of the mode of the file.
type ownSocket struct {
	net.Listener
	log *slog.Logger
}

// Accept waits for a connection of root or of the process's own user. It closes other connections.
func (s *ownSocket) Accept() (net.Conn, error) {
	for {
		conn, err := s.Listener.Accept()
		if err != nil {
			return nil, err
		}
		uid, err := peerUID(conn)
		if err == nil && (uid == 0 || uid == os.Geteuid()) {
			return ownConn{conn, UserName(uid)}, nil
		}
		_ = conn.Close() // the connection is not used, even if the close fails
		s.log.Warn("connection to the admin socket refused", "uid", uid, "error", err)
	}
}

// ownConn is a connection with the name of the user at its other end.
type ownConn struct {
	net.Conn
	name string
}

// NetConn returns the accepted connection.
func (c ownConn) NetConn() net.Conn { return c.Conn }

// PeerName returns the name of the user at the other end.
func (c ownConn) PeerName() string { return c.name }

// peerUID returns the user at the other end of a Unix socket, as the kernel recorded it when the connection was made.
func peerUID(conn net.Conn) (uid int, err error) {
	if wrapper, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = wrapper.NetConn()
	}
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return -1, errors.New("not a Unix socket")
	}
	raw, err := unixConn.SyscallConn()
	if err != nil {
		return -1, err
	}
	var credentials *unix.Ucred
	var sockoptErr error
	err = raw.Control(func(fd uintptr) {
		credentials, sockoptErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err = errors.Join(err, sockoptErr); err != nil {
		return -1, err
	}
	return int(credentials.Uid), nil
}

// UserName returns the name of a user, or the number if there is no name for it.
func UserName(uid int) string {
	id := strconv.Itoa(uid)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}
