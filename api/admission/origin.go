package admission

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/api/route"
)

// isLoopback reports whether a host without a port names this machine.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() && ip.Zone() == ""
}

// hostOnly removes the port and the brackets from a Host header.
func hostOnly(hostport string) string { return (&url.URL{Host: hostport}).Hostname() }

// checkOrigin refuses requests that a web page of another origin makes a browser send. A page whose name was rebound
// to 127.0.0.1 sends its own name as Host. The requests of any other page carry its Origin or, where a browser sends
// none, Sec-Fetch-Site. A page on another port of this host is same-site, so the browser sends our cookies with its
// requests, but it is just as untrusted. While everyone on this machine is admitted without a login (unguarded), the
// Host must be this machine or the advertised host. Otherwise any Host is accepted, because a foreign page has no
// token. Links from any page to an open route are allowed.
func (h *Admission) checkOrigin(r *http.Request, rule route.Rule, unguarded bool) error {
	host := hostOnly(r.Host)
	if unguarded && !isLoopback(host) &&
		(h.Advertise == "" || !strings.EqualFold(host, hostOnly(h.Advertise))) {
		return failure.New(http.StatusForbidden, "host_not_allowed",
			"this server has no users yet and answers requests to this machine only: the Host header must be localhost, 127.0.0.1 or [::1], with any port, and is %s", failure.Quoted(r.Host))
	}
	isLink := rule.Scope == route.ScopePublic && failure.IsRead(r.Method) && strings.EqualFold(r.Header.Get("Sec-Fetch-Mode"), "navigate")
	if site := r.Header.Get("Sec-Fetch-Site"); !isLink &&
		(strings.EqualFold(site, "cross-site") || strings.EqualFold(site, "same-site")) {
		return failure.New(http.StatusForbidden, "origin_not_allowed",
			"requests from pages of other sites or ports are refused: the browser sent Sec-Fetch-Site: %s", strings.ToLower(site))
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 || len(origins) == 1 && isOwnOrigin(origins[0], r) {
		return nil
	}
	return failure.New(http.StatusForbidden, "origin_not_allowed",
		"requests from pages of other sites are refused: the Origin header, if there is one, must be %s://%s, and is %s",
		caller.Scheme(r), r.Host, failure.Quoted(strings.Join(origins, ", ")))
}

// isOwnOrigin reports whether an origin is that of our own pages. Without TLS, https is accepted too, because a proxy
// in front of this server may terminate TLS.
func isOwnOrigin(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "https" || u.Scheme == caller.Scheme(r)) && u.User == nil && u.Path == "" &&
		u.RawQuery == "" && u.Fragment == "" && strings.EqualFold(u.Host, r.Host)
}
