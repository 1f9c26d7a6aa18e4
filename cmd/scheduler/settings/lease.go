package settings

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// Lease are the settings of the port at which executors ask for the leases of exclusive tasks (rule K5).
type Lease struct {
	// Listen is the address of that port. If it is empty, ListenOn derives the address from the API's.
	Listen string
	// URLs are the addresses at which executors reach the ports of all servers. If it is empty, executors use the port
	// of this server, and on Kubernetes none.
	URLs []string
}

func (l *Lease) flags(f *pflag.FlagSet) {
	f.StringVar(&l.Listen, "lease-listen", "",
		"address of the port at which executors ask for the leases of exclusive tasks (default: the host of --listen, and its port + 10000)")
	f.StringSliceVar(&l.URLs, "lease-urls", nil,
		"comma-separated http://host:port of that port on each server, as executors reach them. A name with several addresses stands for a server at each. With --kubernetes, exclusive tasks get leases only if this is set. The same on all servers (default: that of this server; none with --kubernetes)")
}

func (l *Lease) check(r *report) {
	if l.Listen != "" {
		r.About(r.source("lease-listen"), checkListen(l.Listen))
	}
	for _, text := range l.URLs {
		r.About(fmt.Sprintf("%s %q", r.source("lease-urls"), hidePassword(text)), checkLeaseURL(text))
	}
}

func checkLeaseURL(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return errors.New("it is no URL")
	}
	port, portErr := strconv.ParseUint(u.Port(), 10, 16)
	ip, _ := netip.ParseAddr(u.Hostname())
	switch {
	case portErr != nil, port == 0, u.Hostname() == "", text != "http://"+u.Host:
		return errors.New("must be http://host:port, without a path")
	case ip.IsValid() && ip.IsUnspecified():
		return errors.New("it stands for all addresses of a machine; executors need one at which they reach the server")
	}
	return nil
}

// portDistance is the difference between the API's port and the default port for leases.
const portDistance = 10_000

// ListenOn returns the address to listen on. api is the address in --listen. If the port of api is 0, the port for
// leases is 0 too, so that the system chooses both.
func (l *Lease) ListenOn(api string) string {
	if l.Listen != "" {
		return l.Listen
	}
	host, text, _ := net.SplitHostPort(api) // the address was checked with the settings
	port, err := strconv.Atoi(text)
	switch {
	case err != nil, port == 0:
		port = 0
	case port+portDistance <= 65535:
		port += portDistance
	default:
		port -= portDistance
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}

// LeaseURLs returns the addresses at which executors ask for leases. listener is the address on which this server
// listens for these requests. advertised is the address at which others reach its API. On Kubernetes the result has
// only the addresses that --lease-urls sets, because pods may be unable to reach a server, and without one an exclusive
// task would never begin.
func (c *Config) LeaseURLs(listener, advertised string) []string {
	if len(c.Lease.URLs) > 0 || c.Kubernetes.On {
		return c.Lease.URLs
	}
	host, _, err := net.SplitHostPort(advertised)
	if err != nil {
		host = strings.Trim(advertised, "[]")
	}
	_, port, _ := net.SplitHostPort(listener)
	return []string{"http://" + net.JoinHostPort(host, port)}
}
