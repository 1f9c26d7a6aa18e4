package api

import (
	"context"
	"net"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/auth"
)

// Peer is a connection of a Unix socket. PeerName returns the name of the connected user of this machine.
type Peer interface{ PeerName() string }

// ServeSocket is Serve for a Unix socket. All its requests have an admin's rights, even if there are users, so the
// listener must ensure that only the owner of this server can connect. Its connections may implement Peer.
func (s *Server) ServeSocket(ctx context.Context, l net.Listener) error {
	return s.serve(ctx, l, func(ctx context.Context, conn net.Conn) context.Context {
		p := auth.Principal{Kind: auth.Machine, Grant: auth.Grant{Role: auth.Admin}}
		if peer, ok := conn.(Peer); ok {
			p.Name = peer.PeerName()
		}
		return caller.WithSocketPeer(ctx, p)
	})
}
