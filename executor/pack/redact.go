package pack

import (
	"net/url"
	"strings"
)

const redacted = "xxxxx"

// redact is an address as it may be logged and reported: without a password, without what else stands there if it
// can't be parsed, and without its query, which in signed URLs is as good as a password.
func redact(address string) string {
	u, err := url.Parse(address)
	if err == nil && u.Opaque == "" && (u.Host != "" || !strings.Contains(address, "@") || u.Scheme == "file") {
		if u.RawQuery != "" || u.ForceQuery {
			u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = "…", false, "", ""
		}
		return u.Redacted()
	}
	// Where the password begins and ends can't be known, so it goes with all that may be a part of it.
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
