package pages

import "net/http"

// These are the content security policies. Answers of the API are not pages: nothing in them may be loaded or run,
// wherever they are shown.
const (
	dataPolicy = "default-src 'none'; frame-ancestors 'none'"
	// In a page only our own files run, and no script may create markup or code from text. The trusted types policy
	// worker returns one fixed URL.
	pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
		"worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
		"require-trusted-types-for 'script'; trusted-types worker"
	// A worker's policy comes with its own file, not with the page that starts the worker.
	filePolicy = "default-src 'none'; script-src 'self'; connect-src 'self'; frame-ancestors 'none'"
)

// Guard sets the security headers of every answer, including errors. Strict-Transport-Security is not among them: it
// applies to a host name with all ports, so it would make browsers refuse other servers on this host that use plain
// HTTP.
func Guard(h http.Header) {
	h.Set("Content-Security-Policy", dataPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}
