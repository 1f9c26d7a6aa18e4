package deploy_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/certificates"
	"github.com/elasticjob-go/elasticjob/test/internal/child"
	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestStreamsThroughNginx: behind deploy/nginx.conf, with TLS, the output of a task that runs arrives line by line, and so do
// events; a login's cookie is for https only, and too many logins are refused.
func TestStreamsThroughNginx(t *testing.T) {
	t.Parallel()
	m := system.New(t, bin)
	m.Start()
	m.App("app", system.Files{"bin/start.sh": "#!/bin/sh\necho first\nwhile [ -e \"$HOLD\" ]; do sleep 0.1; done\necho second\n"}, nil)
	hold, release := m.Hold()
	m.Job("job", "app", system.Doc{"env": map[string]string{"HOLD": hold}})
	run := m.Trigger("job")
	task := m.AwaitShards(run, "RUNNING").Shards[0].TaskID
	client, url := nginx(t, m)

	events, close := stream(t, client, url+"/api/events")
	defer close()
	if line := next(t, events); line == "" {
		t.Error("the first event is empty")
	}
	lines, close := stream(t, client, url+"/api/task/"+task+"/logs?follow=true")
	defer close()
	if line := next(t, lines); line != "first\n" {
		t.Errorf("the first line is %q", line)
	}
	release() // only now, so that the first line did not wait for the second one
	if line := next(t, lines); line != "second\n" {
		t.Errorf("the second line is %q", line)
	}
	m.Await(run, "FINISHED")
	// Nobody has a login yet, and so each try is refused by the server, until nginx does it.
	m.Until("nginx refuses one login too many", func() string {
		resp, err := client.Post(url+"/api/login", "application/json", strings.NewReader(`{"username":"ann","password":"wrong"}`))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") != "" { // the server's own 429 has that
			return resp.Status
		}
		return ""
	})
}

// nginx starts one before the machine's server, by deploy/nginx.conf with other addresses, and gives a client that trusts it and its address.
func nginx(t *testing.T, m *system.Machine) (*http.Client, string) {
	t.Helper()
	path := program(t, "nginx")
	if path == "" {
		t.Fatal("there is no nginx: type tools/prepare")
	}
	dir := t.TempDir()
	ports, err := child.FreePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	authority := certificates.New(t)
	cert, key := authority.Good().Write(t, dir)
	site := replace(t, read(t, "../../deploy/nginx.conf"),
		"server 127.0.0.1:8899 ", "server "+strings.TrimPrefix(m.URL(), "http://")+" ",
		"listen 80;", fmt.Sprintf("listen 127.0.0.1:%d;", ports[0]),
		"listen 443 ssl;", fmt.Sprintf("listen 127.0.0.1:%d ssl;", ports[1]),
		"/etc/nginx/elasticjob.crt", cert, "/etc/nginx/elasticjob.key", key,
		"elasticjob.example.com", "localhost")
	// One process, which ends as a whole.
	whole := "daemon off;\nmaster_process off;\npid nginx.pid;\nerror_log stderr;\nevents { worker_connections 64; }\nhttp {\naccess_log off;\n"
	if os.Geteuid() == 0 {
		whole = "user root;\n" + whole // who owns the folder and the key
	}
	for _, temporary := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		whole += temporary + "_temp_path " + temporary + ";\n"
	}
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, []byte(whole+site+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(path, "-t", "-e", "stderr", "-p", dir, "-c", conf).CombinedOutput(); err != nil {
		t.Fatalf("nginx -t: %v\n%s", err, out)
	}
	log := filepath.Join(dir, "log")
	started, err := child.Start(exec.Command(path, "-e", "stderr", "-p", dir, "-c", conf), log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(started.Kill)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority.Pool()}}
	t.Cleanup(transport.CloseIdleConnections)
	client, url := &http.Client{Transport: transport}, fmt.Sprintf("https://localhost:%d", ports[1])
	m.Until("nginx answers for the server", func() string {
		resp, err := client.Get(url + "/readyz")
		if err != nil {
			return err.Error() + child.LastWords(log)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return resp.Status
		}
		return ""
	})
	return client, url
}

func stream(t *testing.T, client *http.Client, url string) (lines *bufio.Reader, end func()) {
	t.Helper()
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s", url, resp.Status)
	}
	return bufio.NewReader(resp.Body), func() { _ = resp.Body.Close() }
}

func next(t *testing.T, lines *bufio.Reader) string {
	t.Helper()
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("after %q: %v", line, err)
	}
	return line
}
