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

// checkOrigin refuses what a web page makes the browser of somebody send. A page whose name was rebound to 127.0.0.1
// sends its own name as Host; any other page's requests carry its Origin, or, where a browser sends none,
// Sec-Fetch-Site. A page of another port of this host is of the same site, gets our cookies sent, and is as foreign.
// Where everybody on this machine is let in (unguarded), the Host must be this machine, or what it advertises; else
// any will do, since a page has no token. An open page may be linked to from anywhere.
func (h *Admission) checkOrigin(r *http.Request, rule route.Rule, unguarded bool) error {
	host := hostOnly(r.Host)
	if unguarded && !isLoopback(host) &&
		(h.Advertise == "" || !strings.EqualFold(host, hostOnly(h.Advertise))) {
		return failure.New(http.StatusForbidden, "host_not_allowed",
			"this server has no users yet and answers requests to this machine only: the Host header must be localhost, 127.0.0.1 or [::1], with any port, and is %s", failure.Quoted(r.Host))
	}
	linked := rule.Scope == route.Open && failure.IsRead(r.Method) && strings.EqualFold(r.Header.Get("Sec-Fetch-Mode"), "navigate")
	if site := r.Header.Get("Sec-Fetch-Site"); !linked &&
		(strings.EqualFold(site, "cross-site") || strings.EqualFold(site, "same-site")) {
		return failure.New(http.StatusForbidden, "origin_not_allowed",
			"this server takes no requests from pages of other sites or ports: "+
				"the browser says with Sec-Fetch-Site: %s that it comes from one", strings.ToLower(site))
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 || len(origins) == 1 && isOurs(origins[0], r) {
		return nil
	}
	return failure.New(http.StatusForbidden, "origin_not_allowed",
		"this server takes no requests from pages of other sites: the Origin header, if there is one, must be %s://%s, and is %s",
		caller.Scheme(r), r.Host, failure.Quoted(strings.Join(origins, ", ")))
}

// isOurs reports whether an origin is that of our own pages. Without TLS of our own there may be a proxy before us
// that has some.
func isOurs(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "https" || u.Scheme == caller.Scheme(r)) && u.User == nil && u.Path == "" &&
		u.RawQuery == "" && u.Fragment == "" && strings.EqualFold(u.Host, r.Host)
}
