package commands

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings/commandline"
)

const (
	// readyTimeout is how long a server may take to answer.
	readyTimeout = 5 * time.Second
	// maxReadyAnswer is how many bytes of the answer are printed if the server is not ready.
	maxReadyAnswer = 4096
)

// readyCommand returns the command that asks a server whether it is ready. Images without a shell use it as their
// health check.
func readyCommand() *cobra.Command {
	server, alive := "", false
	var s *settings.Settings
	cmd := &cobra.Command{
		Use:   "ready",
		Short: "Check whether a server is ready; the exit status is 0 if it is",
		Long: `ready requests a server's /readyz; if the server is not ready, it prints why and ends with status 1. It is a
health check where curl is missing, such as in a container. With --alive it asks only whether the server
answers (/healthz), even if it is not ready: a server that does not answer should be restarted.

Give the server's own flags (or ` + settings.EnvPrefix +
			`…): only the listen address and the certificate have an effect.
--server asks a server on another machine, whose certificate is verified with --tls-ca.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			env := settings.Environment(os.Environ())
			// The variable SERVER is meant for elasticjob, and may name another server.
			delete(env, settings.EnvPrefix+"SERVER")
			delete(env, settings.EnvPrefix+"ALIVE")
			return s.CompleteAddress(env)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := s.Config()
			return askReady(cmd.Context(), &c, server, alive)
		},
	}
	commandline.RefuseBadFlags(cmd)
	s = settings.New(cmd.Flags())
	shown := []string{"listen", "advertise", "tls-cert", "tls-ca", "config"}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Hidden = !slices.Contains(shown, f.Name) })
	cmd.Flags().StringVar(&server, "server", "",
		"address of the server (default: the server of this machine that --listen and --tls-cert, or the environment, name)")
	cmd.Flags().BoolVar(&alive, "alive", false, "ask only whether the server answers at all")
	return cmd
}

// askReady asks the server at this address or, if it is empty, the server of this machine with these settings. It
// returns an error unless the answer is 200.
func askReady(ctx context.Context, c *settings.Config, server string, alive bool) error {
	path, condition := "/readyz", "ready"
	if alive {
		path, condition = "/healthz", "well"
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	tlsConfig := &tls.Config{MinVersion: tls.VersionTLS12}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: tlsConfig, DisableKeepAlives: true}
	if server == "" {
		address, err := dialable(c.API.Listen)
		if err != nil {
			return err
		}
		server = c.Scheme() + "://" + address
		transport.Proxy = nil // the server is on this machine
		// The certificate contains the name by which others reach the server, but not necessarily the listen address.
		tlsConfig.ServerName, _, _ = net.SplitHostPort(c.API.Advertise)
	}
	if c.TLS.Files.Cert != "" || c.TLS.Files.CA != "" {
		roots, err := c.TLS.Files.Roots()
		if err != nil {
			return fmt.Errorf("read the trusted certificates: %w", err)
		}
		tlsConfig.RootCAs = roots
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(server, "/")+path, http.NoBody)
	if err != nil {
		return fmt.Errorf("--server %q: %w", server, err)
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return fmt.Errorf("ask whether the server is %s: %w", condition, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, maxReadyAnswer)) // the status alone decides
	return fmt.Errorf("the server is not %s: %s: %s", condition, resp.Status, strings.TrimSpace(string(answer)))
}

// dialable returns an address at which this machine reaches a server with the given listen address. It replaces an
// unspecified address by the loopback address, and returns an error for port 0.
func dialable(listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", fmt.Errorf("--listen %q: %w", listen, err)
	}
	if port == "0" {
		return "", errors.New("with --listen on port 0 the server's port is not known: name it with --server http://127.0.0.1:PORT")
	}
	switch ip, err := netip.ParseAddr(host); {
	case host == "" || err == nil && ip.Is4() && ip.IsUnspecified():
		host = "127.0.0.1"
	case err == nil && ip.IsUnspecified():
		host = "::1"
	}
	return net.JoinHostPort(host, port), nil
}
