package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// readyAnswer is how long a server may take to say that it is ready, and readyMost how much of what it says is printed.
const (
	readyAnswer = 5 * time.Second
	readyMost   = 4096
)

// readyCommand asks a server whether it is ready. It is for images without a shell, whose health check this is.
func readyCommand() *cobra.Command {
	server := ""
	cmd := &cobra.Command{
		Use:   "ready",
		Short: "Ask a server whether it is ready; the exit status is 0 if it is",
		Long: `ready asks a server's /readyz, prints what is missing if it is not ready, and ends with status 1 then. It is a
health check for where there is no curl, such as in a container.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return askReady(cmd.Context(), server)
		},
	}
	refuseBadFlags(cmd)
	cmd.Flags().StringVar(&server, "server", "http://127.0.0.1:8899", "address of the server")
	return cmd
}

func askReady(ctx context.Context, server string) error {
	ctx, cancel := context.WithTimeout(ctx, readyAnswer)
	defer cancel()
	url := strings.TrimSuffix(server, "/") + "/readyz"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("--server %q: %w", server, err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("ask whether the server is ready: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	said, _ := io.ReadAll(io.LimitReader(resp.Body, readyMost)) // the status is what counts
	return fmt.Errorf("the server is not ready: %s: %s", resp.Status, strings.TrimSpace(string(said)))
}
