package caller

import (
	"context"
	"net"
	"net/http"
	"strings"
)

// reachableKey is the key of a bool in a request's context: whether other machines can reach the listener.
type reachableKey struct{}

// IsLocal reports whether a request came from this machine: over a loopback address, on a listener that other machines
// cannot reach, and not through a proxy. A proxy on this machine also connects over a loopback address, but its
// clients may be on any machine.
func IsLocal(r *http.Request) bool {
	reachable, _ := r.Context().Value(reachableKey{}).(bool)
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return !reachable && ok && local.IP.IsLoopback() && !isProxied(r)
}

// proxyHeaders are the names of headers that reverse proxies, load balancers and CDNs add to requests, and that
// clients of this API do not send. A * at the end of a name matches any suffix. If the headers of a proxy were missing
// here, a server without users would be open to all clients of the proxy.
var proxyHeaders = []string{
	"Forwarded*", "X-Forwarded*", "Via", "X-Via*", "Proxy-*", "X-Proxy*", "Wl-Proxy-*", "X-Real-*", "X-Remote-*",
	"X-Client-*", "Client-Ip", "X-Cluster-*", "True-Client-*", "X-True-Client-*", "X-Original-*", "X-Originating-*",
	"X-Rewrite-*", "X-Host", "X-Scheme", "X-Url-Scheme", "Front-End-Https", "X-Varnish*", "X-Envoy-*", "X-Arr-*",
	"Cdn-*", "X-Cdn-*", "Cf-*", "Fastly-*", "X-Fastly-*", "Akamai-*", "X-Akamai-*", "Incap-*", "X-Sucuri-*", "Ali-*",
	"Eagleid", "Fly-*", "X-Azure-*", "X-Appengine-*", "X-Cloud-Trace-*", "X-Amzn-*", "X-Amz-*", "Cloudfront-*",
	"Do-Connecting-*", "X-Vercel-*", "X-Nf-*", "X-Heroku-*", "Tailscale-*", "Ngrok-*",
}

// isProxied reports whether a request has a header that a proxy adds. The value of the header is never trusted.
func isProxied(r *http.Request) bool {
	for name := range r.Header {
		for _, pattern := range proxyHeaders {
			prefix, anySuffix := strings.CutSuffix(pattern, "*")
			if name == pattern || anySuffix && strings.HasPrefix(name, prefix) {
				return true
			}
		}
	}
	return false
}

// WithReachable returns a context for the requests of a listener. reachable says whether other machines can reach the
// listener.
func WithReachable(ctx context.Context, reachable bool) context.Context {
	return context.WithValue(ctx, reachableKey{}, reachable)
}
