package main

import (
	"context"
	"errors"

	"github.com/elasticjob-go/elasticjob/client"
	"github.com/elasticjob-go/elasticjob/definitions"
	codec "github.com/elasticjob-go/elasticjob/internal/document"
)

// definitionServer adapts a client to package definitions.
type definitionServer struct{ *client.Client }

// Call converts an error about fields of a document to a definitions.Refusal. It returns other errors unchanged, so
// that they keep their exit status.
func (s definitionServer) Call(ctx context.Context, method, path string, body, answer any) error {
	err := s.Client.Call(ctx, method, path, body, answer)
	var refused *client.Error
	if !errors.As(err, &refused) || len(refused.Fields) == 0 {
		return err
	}
	refusal := &definitions.Refusal{Message: refused.Message}
	for _, f := range refused.Fields {
		refusal.Fields = append(refusal.Fields, codec.Violation{Field: f.Field, Value: f.Value, Message: f.Message})
	}
	return refusal
}

// readDefinitions reads the files that -f names.
func (a *cli) readDefinitions(paths []string) (*definitions.Set, error) {
	if len(paths) == 0 {
		return nil, usagef("no files: give -f FILE or -f FOLDER; - is standard input")
	}
	sources, err := definitions.Sources(paths, a.in)
	if err != nil {
		return nil, usage(err)
	}
	set, err := definitions.Read(sources, a.now())
	if err != nil {
		return nil, problemsIn(err)
	}
	return set, nil
}

// problemsIn converts definitions.Problems into a usage error, which says that nothing was changed. It returns other
// errors unchanged.
func problemsIn(err error) error {
	var problems definitions.Problems
	if !errors.As(err, &problems) {
		return err
	}
	if len(problems) == 1 {
		return usagef("nothing was changed; these are wrong:\n%w", problems)
	}
	return usagef("nothing was changed; %d things are wrong:\n%w", len(problems), problems)
}
