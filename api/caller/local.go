package caller

import (
	"context"
	"net"
	"net/http"
	"strings"
)

// wideKey of a request's context holds whether the listener can be reached from other machines.
type wideKey struct{}

// IsOfThisMachine reports whether a request came in by a loopback address of a listener that has no others, and by no
// proxy: one on this machine connects from here for clients that are anywhere.
func IsOfThisMachine(r *http.Request) bool {
	wide, _ := r.Context().Value(wideKey{}).(bool)
	here, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return !wide && ok && here.IP.IsLoopback() && !isProxied(r)
}

// proxyHeaders are headers that reverse proxies, load balancers and CDNs add to requests, and that clients of this API
// don't send. A * at the end of a name stands for any rest. A proxy whose headers are missing here would open a server
// without users to all its clients.
var proxyHeaders = []string{
	"Forwarded*", "X-Forwarded*", "Via", "X-Via*", "Proxy-*", "X-Proxy*", "Wl-Proxy-*", "X-Real-*", "X-Remote-*",
	"X-Client-*", "Client-Ip", "X-Cluster-*", "True-Client-*", "X-True-Client-*", "X-Original-*", "X-Originating-*",
	"X-Rewrite-*", "X-Host", "X-Scheme", "X-Url-Scheme", "Front-End-Https", "X-Varnish*", "X-Envoy-*", "X-Arr-*",
	"Cdn-*", "X-Cdn-*", "Cf-*", "Fastly-*", "X-Fastly-*", "Akamai-*", "X-Akamai-*", "Incap-*", "X-Sucuri-*", "Ali-*",
	"Eagleid", "Fly-*", "X-Azure-*", "X-Appengine-*", "X-Cloud-Trace-*", "X-Amzn-*", "X-Amz-*", "Cloudfront-*",
	"Do-Connecting-*", "X-Vercel-*", "X-Nf-*", "X-Heroku-*", "Tailscale-*", "Ngrok-*",
}

// isProxied reports whether a request has a header that a proxy adds. What the header says is never believed.
func isProxied(r *http.Request) bool {
	for name := range r.Header {
		for _, known := range proxyHeaders {
			begin, all := strings.CutSuffix(known, "*")
			if name == known || all && strings.HasPrefix(name, begin) {
				return true
			}
		}
	}
	return false
}

// WithWide gives a context to the requests of a listener, with whether other machines can reach it.
func WithWide(ctx context.Context, wide bool) context.Context {
	return context.WithValue(ctx, wideKey{}, wide)
}
