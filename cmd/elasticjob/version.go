package main

import (
	"context"
	"encoding/json"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/elasticjob-go/elasticjob/client"
	"github.com/elasticjob-go/elasticjob/internal/release"
)

func (a *cli) versionCommand() *cobra.Command {
	var own bool
	cmd := &cobra.Command{Use: "version", Short: "Show the versions of this program and of the server", Args: noArgs}
	cmd.Flags().BoolVar(&own, "client", false, "this program's only; no server is asked")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		v := versions{Client: release.Version(), Go: runtime.Version(),
			Platform: runtime.GOOS + "/" + runtime.GOARCH}
		if own {
			return a.printVersions(v)
		}
		return a.withServer(func(ctx context.Context, c *client.Client, _ []string) error {
			health, err := c.Health(ctx)
			if err != nil {
				_ = a.printVersions(v) // the command ends with the error of the server
				return err
			}
			v.Server = health.Raw
			return a.printVersions(v)
		})(cmd, args)
	}
	return cmd
}

// versions is the output of version; Server is the answer of /healthz.
type versions struct {
	Client   string          `json:"client"`
	Go       string          `json:"go"`
	Platform string          `json:"platform"`
	Server   json.RawMessage `json:"server,omitempty"`
}

func (a *cli) printVersions(v versions) error {
	return a.showOwn(v, func() error {
		a.printf("client  %s (%s, %s)", v.Client, v.Platform, v.Go)
		var health client.Health
		if v.Server == nil || json.Unmarshal(v.Server, &health) != nil {
			return nil
		}
		if health.Version == "" {
			health.Version = "does not say: log in"
		}
		a.printf("server  %s", clean(health.Version))
		return nil
	})
}
