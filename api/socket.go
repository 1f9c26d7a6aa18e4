package api

import (
	"context"
	"net"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/auth"
)

// Peer is a connection that knows which user of this machine is at its other end.
type Peer interface{ PeerName() string }

// ServeSocket is Serve for a Unix socket that the owner of this server alone can connect to: its requests are an
// admin's, whoever else there is. Who may connect is the listener's concern; its connections may be Peers.
func (s *Server) ServeSocket(ctx context.Context, l net.Listener) error {
	return s.serve(ctx, l, func(ctx context.Context, conn net.Conn) context.Context {
		p := auth.Principal{Kind: auth.Machine, Grant: auth.Grant{Role: auth.Admin}}
		if peer, ok := conn.(Peer); ok {
			p.Name = peer.PeerName()
		}
		return caller.WithSocketPeer(ctx, p)
	})
}
