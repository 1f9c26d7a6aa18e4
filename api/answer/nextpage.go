package answer

import (
	"net/url"
)

// NextPage is the header Link to the page of a list for which a parameter has that value.
func NextPage(from *url.URL, parameter, value string) string {
	values := from.Query()
	values.Set(parameter, value)
	return "<" + (&url.URL{Path: from.Path, RawPath: from.RawPath, RawQuery: values.Encode()}).String() +
		`>; rel="next"`
}
