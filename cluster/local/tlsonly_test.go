package local

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/mesos"
	"github.com/elasticjob-go/elasticjob/executor/agent"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// If the cluster serves TLS only, a framework and an executor that know the CA can connect. The executor gets the CA
// from its ExecutorInfo only.
func TestClusterThatSpeaksTLSOnly(t *testing.T) {
	t.Parallel()
	known := httptest.NewTLSServer(nil) // its certificate is for 127.0.0.1
	known.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: known.Certificate().Raw})
	caFile := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(caFile, ca, 0o600); err != nil {
		t.Fatal(err)
	}
	c := startWith(t, Options{DataDir: t.TempDir(), TLS: &tls.Config{Certificates: known.TLS.Certificates}})
	defer endAll(t, c)
	for _, url := range []string{c.MasterURL(), c.AgentURL()} {
		if answer, err := http.Get(strings.Replace(url, "https://", "http://", 1) + "/health"); err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				t.Errorf("%s answers plain http", url)
			}
		}
	}

	config, err := mesos.LoadTLS(mesos.TLSFiles{CA: caFile})
	if err != nil {
		t.Fatal(err)
	}
	driver, err := mesos.New(mesos.Options{Masters: []string{c.MasterURL()}, TLS: config})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	session, err := driver.Subscribe(ctx,
		cluster.Framework{ID: "tls", Name: "tls", User: "nobody", FailoverTimeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	launch := cluster.TaskLaunch{
		TaskID: "one", Name: "long", Resources: resources.Amount{CPUMilli: 100, MemMilli: 32_000},
		Executor: cluster.Executor{
			Version: 2, ID: "ex", Framework: "tls", Name: "ex", Resources: resources.Amount{CPUMilli: 100,
				MemMilli: 32_000},
			Command: []string{"./executor"}, BinaryURI: "file://" + self,
			Environment: map[string]string{actAsExecutor: "1", agent.TLSVariable: "true",
				agent.CAVariable: string(ca)},
		},
	}
	for {
		select {
		case event := <-session.Events():
			switch e := event.(type) {
			case cluster.Offers:
				if !strings.HasPrefix(e.Offers[0].AgentURL, "https://") {
					t.Errorf("the agent is at %s", e.Offers[0].AgentURL)
				}
				err := session.Launch(ctx,
					cluster.Launch{AgentID: e.Offers[0].AgentID, OfferIDs: []string{e.Offers[0].ID},
						Tasks: []cluster.TaskLaunch{launch}, Refuse: time.Hour})
				if err != nil {
					t.Fatal(err)
				}
			case cluster.Update:
				if e.State != cluster.Running {
					t.Errorf("the task is %s: %s", e.State, e.Message)
				}
				return
			}
		case <-ctx.Done():
			t.Fatal("the executor does not subscribe")
		}
	}
}

func TestTLSNeedsOneProcess(t *testing.T) {
	t.Parallel()
	_, err := Start(t.Context(), Options{DataDir: t.TempDir(), TLS: &tls.Config{}, Join: "http://127.0.0.1:1",
		Logger: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "in one process") {
		t.Errorf("error %v", err)
	}
}
