package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"

	"github.com/elasticjob-go/elasticjob/api/descriptors"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/adminsocket"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
)

// listen listens on a TCP address. flag is the name of the flag that sets the address. If the address is in use, the
// error says what to do.
func listen(address, flag string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("listen on %s: the address is taken, perhaps by another scheduler; end that, or choose another with %s",
			address, flag)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return l, nil
}

// listenSocket listens on the admin socket if the registry is a file. If the registry is shared by several servers, it
// returns nil without an error.
func listenSocket(c *settings.Config, reserve *descriptors.Reserve, log *slog.Logger) (net.Listener, error) {
	if c.Elected() {
		return nil, nil
	}
	return adminsocket.Listen(c.DataDir, reserve, log)
}
