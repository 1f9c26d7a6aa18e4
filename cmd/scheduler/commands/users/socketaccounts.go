package users

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/internal/document"
)

// socketAccounts uses the API of a server on this machine, through its admin socket. Its methods ignore the actor: the
// server determines who has connected to the socket.
type socketAccounts struct {
	ctx    context.Context // of the command, for the methods without a context
	client *http.Client
}

// socketTimeout is how long a request with its answer may take.
const socketTimeout = 30 * time.Second

// maxAnswer is how many bytes of an answer are read. The longest list of users is shorter.
const maxAnswer = 8 << 20

func newSocketAccounts(ctx context.Context, path string) socketAccounts {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	return socketAccounts{ctx, &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true},
		Timeout: socketTimeout}}
}

type object = map[string]any

// withGrant adds the role and the apps to the object, and returns it.
func withGrant(o object, grant auth.Grant) object {
	o["role"] = grant.Role
	if !grant.Unrestricted() {
		o["apps"] = grant.Apps
	}
	return o
}

func (p socketAccounts) Users() (all []auth.Account, err error) {
	err = p.call(p.ctx, http.MethodGet, "/api/users", nil, &all)
	return all, err
}

func (p socketAccounts) AddUser(
	ctx context.Context, _ event.Actor, name, password string, grant auth.Grant,
) (created auth.Account, err error) {
	body := withGrant(object{"name": name, "password": password}, grant)
	err = p.call(ctx, http.MethodPost, "/api/users", body, &created)
	return created, err
}

func (p socketAccounts) ChangeUser(
	ctx context.Context, _ event.Actor, name string, grant auth.Grant,
) (changed auth.Account, err error) {
	err = p.call(ctx, http.MethodPut, userPath(name), withGrant(object{}, grant), &changed)
	return changed, err
}

func (p socketAccounts) SetPassword(ctx context.Context, _ event.Actor, name, password string) error {
	return p.call(ctx, http.MethodPut, userPath(name)+"/password", object{"password": password}, nil)
}

func (p socketAccounts) EndLogins(ctx context.Context, _ event.Actor, name string) error {
	return p.call(ctx, http.MethodDelete, userPath(name)+"/logins", nil, nil)
}

func (p socketAccounts) ReplaceKeys(ctx context.Context, _ event.Actor) error {
	return p.call(ctx, http.MethodDelete, "/api/logins", nil, nil)
}

func (p socketAccounts) RemoveUser(ctx context.Context, _ event.Actor, name string) error {
	return p.call(ctx, http.MethodDelete, userPath(name), nil, nil)
}

func userPath(name string) string { return "/api/users/" + url.PathEscape(name) }

func (p socketAccounts) Tokens() (all []auth.APIToken, err error) {
	err = p.call(p.ctx, http.MethodGet, "/api/tokens", nil, &all)
	return all, err
}

func (p socketAccounts) AddToken(
	ctx context.Context, _ event.Actor, name string, grant auth.Grant, expires time.Time,
) (token string, created auth.APIToken, err error) {
	body := withGrant(object{"name": name}, grant)
	if !expires.IsZero() {
		body["expires"] = expires
	}
	var answer struct {
		auth.APIToken
		Token string
	}
	err = p.call(ctx, http.MethodPost, "/api/tokens", body, &answer)
	return answer.Token, answer.APIToken, err
}

func (p socketAccounts) RemoveToken(ctx context.Context, _ event.Actor, name string) error {
	return p.call(ctx, http.MethodDelete, "/api/tokens/"+url.PathEscape(name), nil, nil)
}

// call sends a request, with body as JSON unless it is nil, and decodes the answer into a value unless into is nil. If
// the server refuses the request, the error has the server's message. No error contains the request body, because it
// may hold a password.
func (p socketAccounts) call(ctx context.Context, method, path string, body object, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if body == nil {
		text = nil
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return fmt.Errorf("ask the running server: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("read the running server's answer: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return refusal(resp.Status, answer)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("read the running server's answer: %w", err)
	}
	return nil
}

// refusal returns an error with the message of the server's answer, or with the status if the answer has no message.
func refusal(status string, answer []byte) error {
	var decoded struct {
		Error struct {
			Message string
			Fields  document.Violations
		}
	}
	switch err := json.Unmarshal(answer, &decoded); {
	case err != nil || decoded.Error.Message == "":
		return fmt.Errorf("the running server answered %s: is it of this release?", status)
	case len(decoded.Error.Fields) > 0:
		return decoded.Error.Fields
	}
	return errors.New(decoded.Error.Message)
}
