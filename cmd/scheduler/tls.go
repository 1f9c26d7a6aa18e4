package main

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/api/certificate"
)

// tlsFlags are those of what the API speaks TLS with.
func (c *config) tlsFlags(f *pflag.FlagSet) {
	f.StringVar(&c.tlsFiles.Cert, "tls-cert", "",
		"PEM file of this server's certificate, and those that signed it: https is spoken then, and nothing else, with clients and between servers. Read again when it changes")
	f.StringVar(&c.tlsFiles.Key, "tls-key", "",
		"with --tls-cert: PEM file of the certificate's private key, readable by its owner only")
	f.StringVar(&c.tlsFiles.CA, "tls-ca", "",
		"with --tls-cert: PEM file of the certificates that the other servers' are checked with, beside the system's (default: those of --tls-cert)")
}

// checkCertificate opens what is to be spoken TLS with, and notes what its users would stumble on.
func (s *settings) checkCertificate(bad *complaints) {
	c := s.config
	files := c.tlsFiles
	if files.Cert == "" && files.Key == "" {
		bad.unless(files.CA == "", "%s has no effect without --tls-cert and --tls-key", s.said("tls-ca"))
		return
	}
	if files.Cert == "" || files.Key == "" {
		bad.add("--tls-cert and --tls-key belong together: a certificate does nothing without its key")
		return
	}
	var err error
	if c.certificate, err = certificate.Open(files, time.Now); err != nil {
		bad.about(s.said("tls-cert"), err)
		return
	}
	if w := c.certificate.Warning(); w != "" {
		s.note("%s", w)
	}
	if host, _, err := net.SplitHostPort(cmp.Or(c.advertise, c.listen)); err == nil && host != "" {
		if err := c.certificate.Names(host); err != nil {
			s.note("clients, and other servers, that reach this server as %s will not take its certificate: %v", host,
				strings.TrimPrefix(err.Error(), "x509: "))
		}
	}
}

// scheme is that of this server's addresses.
func (c *config) scheme() string {
	if c.tlsFiles.Cert != "" {
		return "https"
	}
	return "http"
}

// warning joins what should be looked at: of the sources that are not nil, and of the certificate.
func (c *config) warning(sources ...func() string) func() string {
	if c.certificate != nil {
		sources = append(sources, c.certificate.Warning)
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

// keepCertificate keeps up with the certificate's files until the function that it returns is called.
func (c *config) keepCertificate(log *slog.Logger) (end func()) {
	if c.certificate == nil {
		return func() {}
	}
	return background(func(ctx context.Context) { c.certificate.Run(ctx, log) })
}

// background runs something until the function that it returns is called, which waits for its end.
func background(run func(ctx context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}
