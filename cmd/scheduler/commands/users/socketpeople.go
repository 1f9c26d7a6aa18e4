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
	"github.com/elasticjob-go/elasticjob/internal/document"
)

// socketPeople uses the API of a server on this machine, through its admin socket.
type socketPeople struct{ client *http.Client }

// socketAnswer is how long a request may take.
const socketAnswer = 30 * time.Second

// maxAnswer is the number of bytes read of an answer. It is more than the longest list of users.
const maxAnswer = 8 << 20

func newSocketPeople(path string) socketPeople {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	return socketPeople{&http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true},
		Timeout: socketAnswer}}
}

type object = map[string]any

func granted(o object, grant auth.Grant) object {
	o["role"] = grant.Role
	if !grant.Unrestricted() {
		o["apps"] = grant.Apps
	}
	return o
}

func (p socketPeople) Users(ctx context.Context) (all []auth.Account, err error) {
	err = p.call(ctx, http.MethodGet, "/api/users", nil, &all)
	return all, err
}

func (p socketPeople) AddUser(ctx context.Context, name, password string, grant auth.Grant) error {
	return p.call(ctx, http.MethodPost, "/api/users", granted(object{"name": name, "password": password}, grant), nil)
}

func (p socketPeople) ChangeUser(ctx context.Context, name string, grant auth.Grant) error {
	return p.call(ctx, http.MethodPut, "/api/users/"+url.PathEscape(name), granted(object{}, grant), nil)
}

func (p socketPeople) SetPassword(ctx context.Context, name, password string) error {
	return p.call(ctx, http.MethodPut, "/api/users/"+url.PathEscape(name)+"/password", object{"password": password},
		nil)
}

func (p socketPeople) EndLogins(ctx context.Context, name string) error {
	return p.call(ctx, http.MethodDelete, "/api/users/"+url.PathEscape(name)+"/logins", nil, nil)
}

func (p socketPeople) ReplaceKeys(ctx context.Context) error {
	return p.call(ctx, http.MethodDelete, "/api/logins", nil, nil)
}

func (p socketPeople) RemoveUser(ctx context.Context, name string) error {
	return p.call(ctx, http.MethodDelete, "/api/users/"+url.PathEscape(name), nil, nil)
}

func (p socketPeople) Tokens(ctx context.Context) (all []auth.APIToken, err error) {
	err = p.call(ctx, http.MethodGet, "/api/tokens", nil, &all)
	return all, err
}

func (p socketPeople) AddToken(ctx context.Context, name string, grant auth.Grant, expires time.Time) (string, error) {
	body := granted(object{"name": name}, grant)
	if !expires.IsZero() {
		body["expires"] = expires
	}
	var made struct{ Token string }
	err := p.call(ctx, http.MethodPost, "/api/tokens", body, &made)
	return made.Token, err
}

func (p socketPeople) RemoveToken(ctx context.Context, name string) error {
	return p.call(ctx, http.MethodDelete, "/api/tokens/"+url.PathEscape(name), nil, nil)
}

// call sends a request and decodes the answer into a value. It returns the server's error message. No error contains
// the request body, which may hold a password.
func (p socketPeople) call(ctx context.Context, method, path string, body object, into any) error {
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

// refusal returns the server's error message, or an error with the status if the answer contains none.
func refusal(status string, answer []byte) error {
	var said struct {
		Error struct {
			Message string
			Fields  document.Violations
		}
	}
	switch err := json.Unmarshal(answer, &said); {
	case err != nil || said.Error.Message == "":
		return fmt.Errorf("the running server answered %s: is it of this release?", status)
	case len(said.Error.Fields) > 0:
		return said.Error.Fields
	}
	return errors.New(said.Error.Message)
}
