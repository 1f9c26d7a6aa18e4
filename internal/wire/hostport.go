package wire

import (
	"net"
	"net/url"
	"strings"
)

// HostPort is the host of a package's URL in lower case, with the port that is connected to: 80 or 443 where the URL
// names none. It is "" for a URL without a host. Executors and the scheduler compare what it gives, so that a port
// that is closed says nothing of another one.
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
