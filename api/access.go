package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// CheckListen refuses addresses that other machines could reach, unless a
// token is demanded of every request: as long as there are no users, who may connect may
// do everything. addr is "host:port", as for net.Listen.
func CheckListen(addr string, withToken bool) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("listen address %q: want host:port, such as 127.0.0.1:8899: %w", addr, err)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("listen address %q: %q is no port; want a number from 0 to 65535", addr, port)
	}
	if !withToken && !isLoopback(host) {
		return fmt.Errorf("listen address %q can be reached from other machines, where anyone could run any program through it: "+
			"add --api-token-file FILE, with a token that every request must then bring, or listen on 127.0.0.1:%s, localhost:%s or [::1]:%s", addr, port, port, port)
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
func hostOnly(hostport string) string { return (&url.URL{Host: hostport}).Hostname() }

// checkOrigin refuses what a web page makes the browser of this machine's user send.
// A page whose name was rebound to 127.0.0.1 sends its own name as Host; any
// other page's requests carry its Origin, or, where a browser sends none, Sec-Fetch-Site. Where a token is demanded any Host will do: a page
// can't know the token. The address that this server advertises is its name too.
func (s *Server) checkOrigin(r *http.Request) error {
	host := hostOnly(r.Host)
	if s.opts.Token == "" && !isLoopback(host) && (s.opts.Advertise == "" || !strings.EqualFold(host, hostOnly(s.opts.Advertise))) {
		return failed(http.StatusForbidden, "host_not_allowed",
			"this server answers requests to this machine only: the Host header must be localhost, 127.0.0.1 or [::1], with any port, and is %s", quoted(r.Host))
	}
	if strings.EqualFold(r.Header.Get("Sec-Fetch-Site"), "cross-site") {
		return failed(http.StatusForbidden, "origin_not_allowed", "this server takes no requests from pages of other sites: "+
			"the browser says with Sec-Fetch-Site: cross-site that it comes from one")
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 || len(origins) == 1 && sameOrigin(origins[0], r.Host) {
		return nil
	}
	return failed(http.StatusForbidden, "origin_not_allowed",
		"this server takes no requests from pages of other sites: the Origin header, if there is one, must be http://%s, and is %s",
		r.Host, quoted(strings.Join(origins, ", ")))
}

// checkToken demands the token, in a time that reveals nothing about it.
func (s *Server) checkToken(r *http.Request) error {
	if s.opts.Token == "" {
		return nil
	}
	want := sha256.Sum256([]byte(s.opts.Token))
	given := givenTokens(r)
	for _, token := range given {
		if got := sha256.Sum256([]byte(token)); subtle.ConstantTimeCompare(want[:], got[:]) == 1 {
			return nil
		}
	}
	how := "send the header Authorization: Bearer TOKEN with what is in the file that the server was given with --api-token-file"
	if _, other, _ := strings.Cut(r.Header.Get("Authorization"), " "); len(given) > 0 || strings.TrimSpace(other) != "" {
		return failed(http.StatusUnauthorized, "bad_token", "that is not this server's token: %s", how)
	}
	return failed(http.StatusUnauthorized, "token_missing", "this server asks for a token: %s", how)
}

// givenTokens are what a request brings for a token: as Authorization: Bearer, or in the header of the original's clients,
// written in either way.
func givenTokens(r *http.Request) (given []string) {
	scheme, bearer, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		bearer = ""
	}
	for _, token := range []string{bearer, r.Header.Get("accessToken"), r.Header.Get("Access-Token")} {
		if token = strings.TrimSpace(token); token != "" {
			given = append(given, token)
		}
	}
	return given
}

func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Scheme == "http" && u.User == nil && u.Path == "" && u.RawQuery == "" && strings.EqualFold(u.Host, host)
}
