package api

import (
	"fmt"
	"net"
	"strconv"
)

// CheckListen says what is wrong with the form of an address to listen on, "host:port" as for net.Listen.
func CheckListen(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("listen address %q: want host:port, such as 127.0.0.1:8899: %w", addr, err)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("listen address %q: %q is no port; want a number from 0 to 65535", addr, port)
	}
	return nil
}
