package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/elasticjob-go/elasticjob/client"
	"github.com/elasticjob-go/elasticjob/internal/spelling"
)

// suggestApp adds the nearest existing name to an error about an app that does not exist.
func (a *cli) suggestApp(ctx context.Context, c *client.Client, err error, name string) error {
	return withSuggestion(ctx, c, err, "app_not_found", name, appNames)
}

// suggestJob does the same for jobs.
func (a *cli) suggestJob(ctx context.Context, c *client.Client, err error, name string) error {
	all := func(ctx context.Context, c *client.Client, _ string) ([]string, error) { return jobNames(ctx, c, "") }
	return withSuggestion(ctx, c, err, "job_not_found", name, all)
}

func withSuggestion(ctx context.Context, c *client.Client, err error, code, name string, from source) error {
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Code != code {
		return err
	}
	names, other := from(ctx, c, name)
	meant := spelling.Nearest(name, names)
	if other != nil || meant == "" {
		return err
	}
	message := fmt.Sprintf("%s; did you mean %s?", before(refused.Message, "; GET "), meant)
	return &client.Error{Status: refused.Status, Code: "", Message: message}
}
