package pages

import "net/http"

// Policies of content. Answers of the API are no pages: nothing in them is loaded or run, wherever they are shown.
const (
	dataPolicy = "default-src 'none'; frame-ancestors 'none'"
	// What runs in a page are our own files, none of them made up by a script: no text becomes markup or a script
	// there. The trusted types policy `worker` returns one fixed address.
	pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
		"worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
		"require-trusted-types-for 'script'; trusted-types worker"
	// A worker's policy comes with its own file, not with the page that starts it.
	filePolicy = "default-src 'none'; script-src 'self'; connect-src 'self'; frame-ancestors 'none'"
)

// Guard sets the headers of every answer, refusals included. There is no Strict-Transport-Security: it holds for a
// host's name with all of its ports, and so would shut out other servers of the machine that speak plain HTTP.
func Guard(h http.Header) {
	h.Set("Content-Security-Policy", dataPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}
