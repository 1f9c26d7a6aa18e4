package mariadb

import (
	"fmt"
	"testing"
)

// StartWithReplica starts a server and a replica that follows it asynchronously. flags are those of the server.
func StartWithReplica(t testing.TB, flags ...string) (server, replica *Server) {
	t.Helper()
	server = Start(t, append([]string{"--server-id=1", "--log-bin=log-bin"}, flags...)...)
	replica = Start(t, "--server-id=2")
	if _, err := replica.Root(t).Exec(fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=%d, MASTER_USER='root', MASTER_CONNECT_RETRY=1; START SLAVE", server.port)); err != nil {
		t.Fatalf("mariadb: make %s a replica of %s: %v", replica.Address(), server.Address(), err)
	}
	return server, replica
}

// StopFollowing stops the replication, so that the replica falls behind its server.
func (s *Server) StopFollowing(t testing.TB) {
	t.Helper()
	if _, err := s.Root(t).Exec("STOP SLAVE"); err != nil {
		t.Fatalf("mariadb: stop the replica %s: %v", s.Address(), err)
	}
}
