package settings

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"
)

// API are the settings of the REST API: its addresses and who may use it.
type API struct {
	// Listen is the address on which the server listens. Advertise is the address at which others reach the server; if
	// it is empty, that is Listen.
	Listen, Advertise string
	// Token is the token of --api-token-file, which has all rights; empty if there is none.
	Token         Secret
	LoginLifetime time.Duration

	tokenFile string
}

// minSafeToken is the minimum length of a token that causes no warning, in characters.
const minSafeToken = 16

// check reads the token file and checks the addresses.
func (a *API) check(r *report) {
	if a.tokenFile != "" {
		a.Token = r.secret("api-token-file", a.tokenFile)
		if a.Token != "" && len(a.Token) < minSafeToken {
			r.note("the token in %s has fewer than %d characters and can be guessed: openssl rand -hex 32 creates a better one",
				a.tokenFile, minSafeToken)
		}
	}
	r.About(r.source("listen"), checkListen(a.Listen))
	if a.Advertise != "" {
		host, port, err := net.SplitHostPort(a.Advertise)
		if err == nil && host == "" {
			err = errors.New("it has no host")
		}
		if err == nil && net.ParseIP(host).IsUnspecified() {
			err = fmt.Errorf("%s means all addresses of a machine, to which others cannot connect; name one that they reach", host)
		}
		if err == nil {
			err = checkPort(port)
		}
		r.About(fmt.Sprintf("%s %q: must be host:port at which others reach this server", r.source("advertise"),
			a.Advertise), err)
		return
	}
	if host, _, err := net.SplitHostPort(a.Listen); err == nil && (host == "" || net.ParseIP(host).IsUnspecified()) {
		r.Add("%s %q listens on all addresses: add --advertise HOST:PORT, the one at which agents and other servers reach this server",
			r.source("listen"), a.Listen)
	}
}

// checkListen returns an error unless the address has the form host:port, as for net.Listen.
func checkListen(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("listen address %q: must be host:port, such as 127.0.0.1:8899: %w", addr, err)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("listen address %q: %q is not a port: must be 0 to 65535", addr, port)
	}
	return nil
}
