package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/elasticjob-go/elasticjob/client"
	"github.com/elasticjob-go/elasticjob/internal/spelling"
)

// nearApp adds the nearest existing name to an error about an app that does not exist.
func (a *cli) nearApp(ctx context.Context, c *client.Client, err error, name string) error {
	return near(ctx, c, err, "app_not_found", name, appNames)
}

// nearJob does the same for jobs.
func (a *cli) nearJob(ctx context.Context, c *client.Client, err error, name string) error {
	all := func(ctx context.Context, c *client.Client, _ string) ([]string, error) { return jobNames(ctx, c, "") }
	return near(ctx, c, err, "job_not_found", name, all)
}

func near(ctx context.Context, c *client.Client, err error, code, name string, from source) error {
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
