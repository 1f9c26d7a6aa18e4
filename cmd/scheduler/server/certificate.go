package server

import (
	"context"
	"log/slog"
	"strings"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/lifecycle"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
)

// warning returns a function that returns the warnings of the sources and of the certificate, separated by semicolons,
// or "". A source may be nil.
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

// keepCertificate reloads the certificate when its files change, until stop is called.
func keepCertificate(c *settings.Config, log *slog.Logger) (stop func()) {
	if c.TLS.Certificate == nil {
		return func() {}
	}
	return lifecycle.Background(func(ctx context.Context) { c.TLS.Certificate.Run(ctx, log) })
}
