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

// checkOrigin returns an error for a request that a browser sends on behalf of a page of another origin. The header
// Origin or, in requests without it, Sec-Fetch-Site reveals such a page. A page on another port of this host is
// same-site, so the browser adds this server's cookies to its requests, but it is not trusted either. Links from any
// page to a public route are allowed.
//
// While every caller on this machine is admitted without a login (unguarded), the Host must also be this machine or
// the advertised host. This refuses pages that have rebound their own name to 127.0.0.1 and so count as the same
// origin. When a login is required, such pages have no token, and any Host is accepted.
func (h *Admission) checkOrigin(r *http.Request, rule route.Rule, unguarded bool) error {
	host := hostOnly(r.Host)
	if unguarded && !isLoopback(host) &&
		(h.Advertise == "" || !strings.EqualFold(host, hostOnly(h.Advertise))) {
		return failure.New(http.StatusForbidden, "host_not_allowed",
			"this server has no users yet and answers requests to this machine only: the Host header must be localhost, 127.0.0.1 or [::1], with any port, and is %s",
			failure.Quoted(r.Host))
	}
	isLink := rule.Scope == route.ScopePublic && failure.IsRead(r.Method) &&
		strings.EqualFold(r.Header.Get("Sec-Fetch-Mode"), "navigate")
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

// isOwnOrigin reports whether an origin is that of this server's pages. Without TLS, https is accepted too, because a
// proxy in front of this server may terminate TLS.
func isOwnOrigin(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	if err != nil {
		return false
	}
	sameScheme := u.Scheme == "https" || u.Scheme == caller.Scheme(r)
	onlyHost := u.User == nil && u.Path == "" && u.RawQuery == "" && u.Fragment == ""
	return sameScheme && onlyHost && strings.EqualFold(u.Host, r.Host)
}
