// Package lease serves the requests of executors for the leases of exclusive tasks (rule K5), on a port that serves
// nothing else. Any client may connect: requests and answers are signed with the key of the holder.
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

// Serve serves on l until ctx ends, and then returns nil. If l fails earlier, it returns an error.
func Serve(ctx context.Context, l net.Listener, renew Renew) error {
	server := &http.Server{Handler: Handler(renew), ReadTimeout: timeout, WriteTimeout: timeout,
		IdleTimeout: time.Minute,
		ErrorLog:    log.New(io.Discard, "", 0)} // any client could fill the log with failed connections
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve requests for leases on %s: %w", l.Addr(), err)
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
	slots := make(chan struct{}, maxArriving)
	read := func(w http.ResponseWriter, r *http.Request) ([]byte, error) {
		slots <- struct{}{}
		defer func() { <-slots }()
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
