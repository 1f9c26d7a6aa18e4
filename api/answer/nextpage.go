package answer

import (
	"net/url"
)

// NextPage returns the value of the header Link for the next page of a list: the URL from with the parameter set to
// value.
func NextPage(from *url.URL, parameter, value string) string {
	values := from.Query()
	values.Set(parameter, value)
	return "<" + (&url.URL{Path: from.Path, RawPath: from.RawPath, RawQuery: values.Encode()}).String() +
		`>; rel="next"`
}
