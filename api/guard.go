package api

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// CheckListen refuses addresses that other machines could reach: as long as
// there are no users, who may connect may do everything. addr is "host:port",
// as for net.Listen.
func CheckListen(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("listen address %q: want host:port, such as 127.0.0.1:8899: %w", addr, err)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("listen address %q: %q is no port; want a number from 0 to 65535", addr, port)
	}
	if !isLoopback(host) {
		return fmt.Errorf("listen address %q can be reached from other machines, and there are no users and passwords yet: "+
			"anyone there could run any program here. Listen on 127.0.0.1:%s, localhost:%s or [::1]:%s", addr, port, port, port)
	}
	return nil
}

// isLoopback reports whether a host without port names this machine itself.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() && ip.Zone() == ""
}

// hostOnly takes the port and the brackets off a Host header.
func hostOnly(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	if strings.HasPrefix(hostport, "[") && strings.HasSuffix(hostport, "]") {
		return hostport[1 : len(hostport)-1]
	}
	return hostport
}

// guard refuses what a web page makes the browser of this machine's user send.
// A page whose name was rebound to 127.0.0.1 sends its own name as Host; any
// other page's requests carry its Origin.
func guard(r *http.Request) error {
	if !isLoopback(hostOnly(r.Host)) {
		return &failure{status: http.StatusForbidden, code: "host_not_allowed", message: fmt.Sprintf(
			"this server answers requests to this machine only: the Host header must be localhost, 127.0.0.1 or [::1], with any port, and is %s", quoted(r.Host))}
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 || len(origins) == 1 && sameOrigin(origins[0], r.Host) {
		return nil
	}
	return &failure{status: http.StatusForbidden, code: "origin_not_allowed", message: fmt.Sprintf(
		"this server takes no requests from pages of other sites: the Origin header, if there is one, must be http://%s, and is %s",
		r.Host, quoted(strings.Join(origins, ", ")))}
}

func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Scheme == "http" && u.User == nil && u.Path == "" && u.RawQuery == "" && strings.EqualFold(u.Host, host)
}
