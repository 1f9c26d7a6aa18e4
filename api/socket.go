package api

import (
	"context"
	"net"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/auth"
)

// Peer is a connection that knows the name of the user of this machine at its other end.
type Peer interface{ PeerName() string }

// ServeSocket is Serve for a Unix socket that only the owner of this server can connect to. Its requests count as an
// admin's, even if there are users. The listener must ensure who can connect; its connections may implement Peer.
func (s *Server) ServeSocket(ctx context.Context, l net.Listener) error {
	return s.serve(ctx, l, func(ctx context.Context, conn net.Conn) context.Context {
		p := auth.Principal{Kind: auth.Machine, Grant: auth.Grant{Role: auth.Admin}}
		if peer, ok := conn.(Peer); ok {
			p.Name = peer.PeerName()
		}
		return caller.WithSocketPeer(ctx, p)
	})
}
