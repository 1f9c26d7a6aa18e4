package whole_test

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/certificates"
	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestCompanyAuthority: with --ca-file, webhooks, the download of packages, and HTTP jobs trust a company's authority.
// The environment of jobs does not contain it. Without the flag, the failure causes name the flag.
func TestCompanyAuthority(t *testing.T) {
	t.Parallel()
	ca := certificates.New(t)
	issued := ca.Good()
	pair, err := tls.X509KeyPair(issued.Cert, issued.Key)
	if err != nil {
		t.Fatal(err)
	}
	notifications := make(chan string, 100)
	site := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/app.tar":
			_, _ = w.Write(system.Tar(t, "",
				system.Files{"bin/start.sh": "#!/bin/sh\nenv | grep -c CA_CERTIFICATES\nexit 3\n"}))
		case "/hook":
			body, _ := io.ReadAll(r.Body)
			notifications <- string(body)
		}
	}))
	site.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	site.Config.ErrorLog = log.New(io.Discard, "", 0)
	site.StartTLS()
	t.Cleanup(site.Close)
	begin := func(args ...string) *system.Machine {
		m := system.New(t, bin)
		m.Start(args...)
		m.App("app", nil, system.Doc{"appURL": site.URL + "/app.tar"})
		m.App("other", system.Files{"bin/start.sh": "#!/bin/sh\nexit 3\n"}, nil)
		hook := system.Doc{"jobErrorHandlerType": "WEBHOOK", "props": system.Doc{"webhook.url": site.URL + "/hook"}}
		m.Job("package", "app", hook)
		m.Job("call", "other", system.Doc{"props": system.Doc{"http.url": site.URL + "/", "http.method": "GET"}})
		return m
	}

	m := begin("--ca-file", ca.File)
	m.Run("call", "FINISHED")
	e := m.Run("package", "FAILED")
	if cause := e.Shards[0].FailureCause; !strings.Contains(cause, "exit status 3") {
		t.Errorf("with the authority: %s", cause)
	}
	if text := m.Logs(e.Shards[0].TaskID, ""); text != "0\n" {
		t.Errorf("the job has the authorities in its environment: %s", text)
	}
	if text := receive(t, "the webhook's message", notifications); !strings.Contains(text, e.ExecutionID) {
		t.Errorf("the webhook was told %s", text)
	}

	m = begin()
	for _, job := range []string{"call", "package"} {
		if cause := m.Run(job, "FAILED").Shards[0].FailureCause; !strings.Contains(cause, "certificate") ||
			!strings.Contains(cause, "--ca-file") {
			t.Errorf("without the authority, %s: %s", job, cause)
		}
	}
	m.Until("the server logs that the webhook failed", func() string {
		if text := m.ServerLog(); !strings.Contains(text, "unknown authority, which --ca-file can name") {
			return text
		}
		return ""
	})
}
