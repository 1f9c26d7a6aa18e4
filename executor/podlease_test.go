package executor_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/elasticjob-go/elasticjob/internal/lease"
	wait "github.com/elasticjob-go/elasticjob/test/eventually"
)

// leaseServer grants every lease that is asked for, with the key "k".
func leaseServer(t *testing.T) (url string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m := lease.Message{Holder: r.Header.Get(lease.HolderHeader), Body: body,
			Signature: r.Header.Get(lease.SignatureHeader)}
		q, err := m.OpenRequest("k")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		a := lease.Answer{Start: q.Start, Number: q.Number, Term: 1, Granted: q.Tasks}.Seal(m.Holder, "k")
		w.Header().Set(lease.SignatureHeader, a.Signature)
		_, _ = w.Write(a.Body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestPodHangsBeyondItsLease checks that an exclusive task ends with its lease even if its pod's first process is
// stopped (rule K5). That process reports the end when it continues.
func TestPodHangsBeyondItsLease(t *testing.T) {
	t.Parallel()
	task := taskOf("t", script(t, "echo process $$ begins; sleep 1000 & wait"))
	task.KillGraceMillis = 100
	task.Lease = &lease.Grant{Seconds: 2, Holder: "x", Key: "k", URLs: []string{leaseServer(t)}}
	p := startPod(t, podDir(t), task, nil)
	p.awaitText("begins")
	p.mu.Lock()
	_, after, _ := strings.Cut(p.text.String(), "process ")
	p.mu.Unlock()
	process, _, _ := strings.Cut(after, " ")
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	wait.Works(t, "the process ends", func() error {
		_, err := os.Stat(filepath.Join("/proc", process))
		if os.IsNotExist(err) {
			return nil
		}
		return &unwanted{text: "process " + process + " is still running"}
	})
	if _, left := p.end(); !left.LeaseLost {
		t.Errorf("got %+v", left)
	}
}
