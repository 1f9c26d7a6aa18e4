package wire

import (
	"net"
	"net/url"
	"strings"
)

// HostPort returns the host of a package's URL in lower case, with its port, which is 80 or 443 by default. It returns
// "" for a URL without a host. Executors and the scheduler compare the results, so that a closed port does not count
// against other ports of the host.
func HostPort(packageURL string) string {
	u, err := url.Parse(packageURL)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}
