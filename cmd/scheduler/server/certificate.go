package server

import (
	"context"
	"log/slog"
	"strings"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/lifecycle"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
)

// warning returns a function that joins the warnings of the sources that are not nil and of the certificate,
// separated by semicolons. It returns "" if there is none.
func warning(c *settings.Config, sources ...func() string) func() string {
	if c.TLS.Certificate != nil {
		sources = append(sources, c.TLS.Certificate.Warning)
	}
	return func() string {
		var found []string
		for _, source := range sources {
			if source == nil {
				continue
			}
			if text := source(); text != "" {
				found = append(found, text)
			}
		}
		return strings.Join(found, "; ")
	}
}

// keepCertificate reloads the certificate when its files change, until the function that it returns is called.
func keepCertificate(c *settings.Config, log *slog.Logger) (end func()) {
	if c.TLS.Certificate == nil {
		return func() {}
	}
	return lifecycle.Background(func(ctx context.Context) { c.TLS.Certificate.Run(ctx, log) })
}
