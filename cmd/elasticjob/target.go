package main

import (
	"cmp"
	"fmt"

	"github.com/elasticjob-go/elasticjob/client"
	"github.com/elasticjob-go/elasticjob/internal/release"
)

// target is the server that a command uses, with its token and CA.
type target struct {
	// context is the name of the context that the target comes from, if any.
	context           string
	server, token, ca string
}

// target returns the server to use. The command line takes precedence over the environment, and the environment over
// the current context. If a server is given by its URL, a context of that server adds its token and CA: a context's
// token is sent only to the context's server.
func (a *cli) target() (target, error) {
	s, err := a.readSettings()
	if err != nil {
		return target{}, err
	}
	t := target{ca: cmp.Or(a.ca, a.getenv("ELASTICJOB_CA"))}
	switch server, name := a.getenv("ELASTICJOB_SERVER"), cmp.Or(a.getenv("ELASTICJOB_CONTEXT"), s.Current); {
	case a.server != "" && a.context != "":
		return t, usagef("--server and --context both name a server: give one of them")
	case a.server != "":
		t.server = a.server
	case a.context != "":
		return s.pick(a.context, t, a.getenv("ELASTICJOB_TOKEN"), true)
	case server != "":
		t.server = server
	case name != "":
		return s.pick(name, t, a.getenv("ELASTICJOB_TOKEN"), false)
	}
	base, err := client.ParseServer(t.server)
	if err != nil {
		return t, usage(err)
	}
	t.server, t.token = base.String(), a.getenv("ELASTICJOB_TOKEN")
	for _, name := range append([]string{s.Current}, s.names()...) {
		if c := s.Contexts[name]; c != nil && c.Server == t.server {
			t.context, t.token, t.ca = name, cmp.Or(t.token, c.Token), cmp.Or(t.ca, c.CA)
			break
		}
	}
	return t, nil
}

// pick returns t with the server of a context. token is the token in the environment. It takes precedence over the
// context's token, unless a flag names the context: the token in the environment may then be meant for another server.
func (s *settings) pick(name string, t target, token string, byFlag bool) (target, error) {
	chosen, ok := s.Contexts[name]
	if !ok {
		return t, s.unknown(name)
	}
	t.context, t.server, t.token, t.ca = name, chosen.Server, cmp.Or(token, chosen.Token), cmp.Or(t.ca, chosen.CA)
	if byFlag {
		t.token = cmp.Or(chosen.Token, token)
	}
	return t, nil
}

// client returns a client of the server. The client calls waiting, if not nil, when it waits for the server.
func (t target) client(waiting func(error)) (*client.Client, error) {
	c, err := client.New(client.Options{Server: t.server, Token: t.token, CAFile: t.ca,
		UserAgent: "elasticjob/" + release.Version(), Waiting: waiting})
	if err != nil && t.context != "" {
		return nil, fmt.Errorf("context %s: %w", t.context, err)
	}
	return c, err
}
