package pages

import "net/http"

// These are the content security policies.
const (
	// dataPolicy is the policy of answers that are not pages. A browser that shows one loads nothing and runs nothing.
	dataPolicy = "default-src 'none'; frame-ancestors 'none'"
	// pagePolicy allows only files of this server to run in a page, and no script to create markup or code from text.
	// The trusted types policy "worker" returns one fixed URL.
	pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
		"worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
		"require-trusted-types-for 'script'; trusted-types worker"
	// filePolicy is the policy of files, because a worker obeys the policy of its own file, not that of the page which
	// starts the worker.
	filePolicy = "default-src 'none'; script-src 'self'; connect-src 'self'; frame-ancestors 'none'"
)

// SetSecurityHeaders sets the security headers that every answer has, also an error. Strict-Transport-Security is not
// among them: it applies to all ports of a host name, so browsers would refuse other servers on this host that use
// plain HTTP.
func SetSecurityHeaders(h http.Header) {
	h.Set("Content-Security-Policy", dataPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}
