package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

// Call makes any request with a JSON answer. path is relative to /api, escaped, and may have a query. Call sends body
// as JSON unless body is nil, and decodes the answer into answer unless answer is nil.
func (c *Client) Call(ctx context.Context, method, path string, body, answer any) error {
	target, err := url.Parse(path)
	if err != nil {
		return fmt.Errorf("make the request: %w", err)
	}
	r := request{method: method, path: []string{"api"}, query: target.Query(), body: body}
	for segment := range strings.SplitSeq(strings.Trim(target.EscapedPath(), "/"), "/") {
		unescaped, err := url.PathUnescape(segment)
		if err != nil {
			return fmt.Errorf("make the request: %w", err)
		}
		r.path = append(r.path, unescaped)
	}
	a, err := call[json.RawMessage](ctx, c, r)
	if err != nil || answer == nil {
		return err
	}
	if err := json.Unmarshal(a.Raw, answer); err != nil {
		return fmt.Errorf("read the answer of %s: %w", c.urlOf(r), err)
	}
	return nil
}
