package mesos_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/mesos"
)

// benchSession subscribes to a master that reads calls and discards them.
func benchSession(b *testing.B) (cluster.Session, func()) {
	b.Helper()
	first := subscribed(15)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Header.Get("Mesos-Stream-Id") != "" {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Mesos-Stream-Id", streamID)
		w.Header().Set("Content-Type", "application/x-protobuf")
		_, _ = w.Write(frame(&first))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	d, err := mesos.New(mesos.Options{Masters: []string{server.URL}})
	if err != nil {
		b.Fatal(err)
	}
	s, err := d.Subscribe(context.Background(), cluster.Framework{ID: framework})
	if err != nil {
		b.Fatal(err)
	}
	return s, func() {
		_ = s.Close()
		server.Close()
	}
}
