package pack

import (
	"net/url"
	"strings"
)

const redacted = "xxxxx"

// redact returns a URL in the form for logs and reports: without its password, and without its query, which in a
// signed URL serves as a password. If the URL can't be parsed, redact also removes everything that may be a part of
// the password.
func redact(address string) string {
	u, err := url.Parse(address)
	if err == nil && u.Opaque == "" && (u.Host != "" || !strings.Contains(address, "@") || u.Scheme == "file") {
		if u.RawQuery != "" || u.ForceQuery {
			u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = "…", false, "", ""
		}
		return u.Redacted()
	}
	if i := strings.LastIndex(address, "@"); i >= 0 {
		before, rest := "", address[:i]
		if scheme, after, ok := strings.Cut(rest, "//"); ok {
			before, rest = scheme+"//", after
		}
		if user, _, ok := strings.Cut(rest, ":"); ok && before != "" {
			before += user + ":"
		}
		address = before + redacted + address[i:]
	}
	if before, _, ok := strings.Cut(address, "?"); ok {
		return before + "?…"
	}
	return address
}
