package main

import (
	"cmp"
	"fmt"

	"github.com/elasticjob-go/elasticjob/client"
	"github.com/elasticjob-go/elasticjob/internal/release"
)

// target is the server that a command talks to, and as whom.
type target struct {
	// context is the name of the context that it comes from, if it comes from one.
	context           string
	server, token, ca string
}

// target says which server is meant: what the command line says counts before the environment, and that before the
// context in use. A context's token goes to the context's server only, however that
// was said.
func (a *cli) target() (target, error) {
	s, err := a.readSettings()
	if err != nil {
		return target{}, err
	}
	t := target{ca: cmp.Or(a.ca, a.getenv("ELASTICJOB_CA"))}
	switch server, name := a.getenv("ELASTICJOB_SERVER"), cmp.Or(a.getenv("ELASTICJOB_CONTEXT"), s.Current); {
	case a.server != "" && a.context != "":
		return t, usagef("--server and --context both say which server is meant: give one of them")
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
		if known := s.Contexts[name]; known != nil && known.Server == t.server {
			t.context, t.token, t.ca = name, cmp.Or(t.token, known.Token), cmp.Or(t.ca, known.CA)
			break
		}
	}
	return t, nil
}

// pick takes a server from a context. A token from the environment counts before the context's, unless the context was
// named by a flag: it may be meant for another server.
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

func (t target) client(waiting func(error)) (*client.Client, error) {
	c, err := client.New(client.Options{Server: t.server, Token: t.token, CAFile: t.ca,
		UserAgent: "elasticjob/" + release.Version(), Waiting: waiting})
	if err != nil && t.context != "" {
		return nil, fmt.Errorf("context %s: %w", t.context, err)
	}
	return c, err
}
