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

// listen listens on the API's address. If the address is in use, the error says what to do.
func listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("listen on %s: the address is taken, perhaps by another scheduler; end that, or choose another with --listen", address)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return l, nil
}

// listenSocket listens for the commands user and token if the registry is a file, which they cannot open while this
// server has it open. It returns nil if the registry is shared.
func listenSocket(c *settings.Config, reserve *descriptors.Reserve, log *slog.Logger) (net.Listener, error) {
	if c.Elected() {
		return nil, nil
	}
	return adminsocket.Listen(c.DataDir, reserve, log)
}
