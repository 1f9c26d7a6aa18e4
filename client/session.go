package client

import (
	"context"
	"net/http"
)

// Health returns the server's state. It needs no token.
func (c *Client) Health(ctx context.Context) (Answer[Health], error) {
	return call[Health](ctx, c, get("healthz"))
}

// Logins returns the ways to log in to the server.
func (c *Client) Logins(ctx context.Context) (Answer[Logins], error) {
	return call[Logins](ctx, c, get("api", "login"))
}

// Login logs a user in and returns the token of the login.
func (c *Client) Login(ctx context.Context, user, password string) (string, error) {
	a, err := call[struct {
		AccessToken string `json:"accessToken"`
	}](ctx, c, post("api", "login").sending(map[string]string{"username": user, "password": password}))
	return a.Value.AccessToken, err
}

// Session returns the caller as the server sees it.
func (c *Client) Session(ctx context.Context) (Answer[Session], error) {
	return call[Session](ctx, c, get("api", "session"))
}

// Logout ends the login of the client's token, also for other programs that use the token.
func (c *Client) Logout(ctx context.Context) error {
	_, err := call[any](ctx, c, request{method: http.MethodDelete, path: []string{"api", "session"}})
	return err
}
