// Package lease serves the requests of executors for the leases of exclusive tasks (rule K5), on a port that serves
// nothing else. Anybody may connect: a request is signed with the key of its holder, and so is the answer.
package lease

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/lease"
)

// Renew answers a request for leases, as it arrived (scheduler.RenewLeases).
type Renew func(context.Context, lease.Message) (lease.Message, error)

// Serve serves on a listener until ctx ends or the listener fails.
func Serve(ctx context.Context, on net.Listener, renew Renew) error {
	server := &http.Server{Handler: Handler(renew), ReadTimeout: timeout, WriteTimeout: timeout,
		IdleTimeout: time.Minute,
		ErrorLog:    log.New(io.Discard, "", 0)} // a stranger's connection needs no line in the log
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(on) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve requests for leases on %s: %w", on.Addr(), err)
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if server.Shutdown(ending) != nil {
		_ = server.Close()
	}
	<-failed
	return nil
}

// timeout is how long a request may take to arrive, and its answer to leave.
const timeout = 5 * time.Second

// maxArriving is the maximum number of requests that are read at once; the others wait. Each takes up to lease.MaxBody
// of memory before its signature is checked.
const maxArriving = 200

// Handler serves POST lease.Path. The answer is 403 if the request is not signed by its holder, and 503 if this server
// can't answer: it does not lead, or its term could not be confirmed. The holder then asks another server.
func Handler(renew Renew) http.Handler {
	mux := http.NewServeMux()
	room := make(chan struct{}, maxArriving)
	read := func(w http.ResponseWriter, r *http.Request) ([]byte, error) {
		room <- struct{}{}
		defer func() { <-room }()
		return io.ReadAll(http.MaxBytesReader(w, r.Body, lease.MaxBody))
	}
	mux.HandleFunc("POST "+lease.Path, func(w http.ResponseWriter, r *http.Request) {
		body, err := read(w, r)
		if err != nil {
			http.Error(w, "read the request: "+err.Error(), http.StatusBadRequest)
			return
		}
		answer, err := renew(r.Context(), lease.Message{Holder: r.Header.Get(lease.HolderHeader), Body: body,
			Signature: r.Header.Get(lease.SignatureHeader)})
		switch {
		case errors.Is(err, lease.ErrSignature):
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		case err != nil:
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set(lease.SignatureHeader, answer.Signature)
		_, _ = w.Write(answer.Body) // the holder notices that an answer is cut off
	})
	return mux
}
