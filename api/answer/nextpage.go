package answer

import (
	"net/url"
)

// NextPage returns the value of the header Link for the next page of a list. Its URL is that of the current page, with
// the parameter set to value.
func NextPage(current *url.URL, parameter, value string) string {
	values := current.Query()
	values.Set(parameter, value)
	return "<" + (&url.URL{Path: current.Path, RawPath: current.RawPath, RawQuery: values.Encode()}).String() +
		`>; rel="next"`
}
