package deploy_test

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/certificates"
	"github.com/elasticjob-go/elasticjob/test/internal/child"
	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

const password = "a password of many words"

// TestStreamsThroughNginx: behind deploy/nginx.conf with TLS, a server without users rejects every request. With a
// user, the output of a running task arrives line by line, and so do events, the cookie of a login is for https only,
// and too many logins are rejected, for both ways to log in.
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
	if status, text := ask(t, client, "GET", url+"/api/app/list", ""); status != http.StatusForbidden ||
		!strings.Contains(text, "no_users") {
		t.Fatalf("without users: %d %s", status, text)
	}
	refusesOtherNames(t, client, url)
	m.OK("POST", "/api/users", fmt.Sprintf(`{"name":"ann","password":%q,"role":"admin"}`, password))
	ann := login(t, client, url)

	events, closeEvents := stream(t, client, url+"/api/events", ann)
	defer closeEvents()
	if line := next(t, events); line == "" {
		t.Error("the first event is empty")
	}
	lines, closeLines := stream(t, client, url+"/api/task/"+task+"/logs?follow=true", ann)
	defer closeLines()
	if line := next(t, lines); line != "first\n" {
		t.Errorf("the first line is %q", line)
	}
	release() // only now, which shows that the first line did not wait for the second
	if line := next(t, lines); line != "second\n" {
		t.Errorf("the second line is %q", line)
	}
	m.Until("the run ends", func() string {
		if said := m.OK("GET", "/api/execution/"+run, "", ann); !strings.Contains(said, `"state":"FINISHED"`) {
			return said
		}
		return ""
	})
	// The server rejects each attempt, until nginx does.
	for _, path := range []string{"/api/session", "/api/login"} {
		m.Until("nginx refuses one POST "+path+" too many", func() string {
			status, text := ask(t, client, "POST", url+path, `{"username":"ann","password":"wrong"}`)
			if status != http.StatusTooManyRequests || !strings.Contains(text, "nginx") {
				return text
			}
			return ""
		})
	}
	if status, text := ask(t, client, "GET", url+"/api/login", ""); status != http.StatusOK {
		t.Errorf("GET /api/login counts as a login: %d %s", status, text)
	}
}

// refusesOtherNames: nginx does not answer requests that name another server than nginx.conf does, in TLS or as Host.
func refusesOtherNames(t *testing.T, client *http.Client, url string) {
	t.Helper()
	for _, c := range []struct{ url, host string }{{strings.Replace(url, "localhost", "127.0.0.1", 1), ""},
		{url, "127.0.0.1"}, {url, "evil.example"}} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url+"/readyz", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = c.host
		if answer, err := client.Do(r); err == nil {
			_ = answer.Body.Close()
			t.Errorf("%s with the host %q: %s", c.url, c.host, answer.Status)
		}
	}
}

// login logs ann in as the console does, and returns the header for her requests.
func login(t *testing.T, client *http.Client, url string) (header string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/api/session",
		strings.NewReader(fmt.Sprintf(`{"username":"ann","password":%q}`, password)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Origin", url)
	r.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	cookies := answer.Cookies()
	if answer.StatusCode != http.StatusOK || len(cookies) != 1 || !cookies[0].Secure {
		t.Fatalf("login: %s, cookies %v", answer.Status, cookies)
	}
	return "Authorization: Bearer " + cookies[0].Value
}

// ask sends a request and returns the response.
func ask(t *testing.T, client *http.Client, method, url, body string) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(said)
}

// nginx starts an nginx in front of the machine's server, with deploy/nginx.conf and other addresses. It returns a
// client that trusts the nginx's certificate, and the nginx's URL.
func nginx(t *testing.T, m *system.Machine) (*http.Client, string) {
	t.Helper()
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
		"listen 443 ssl default_server;", fmt.Sprintf("listen 127.0.0.1:%d ssl default_server;", ports[1]),
		"listen 443 ssl;", fmt.Sprintf("listen 127.0.0.1:%d ssl;", ports[1]),
		"/etc/nginx/elasticjob.crt", cert, "/etc/nginx/elasticjob.key", key,
		"elasticjob.example.com", "localhost")
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority.Pool()}}
	t.Cleanup(transport.CloseIdleConnections)
	client, url := &http.Client{Transport: transport}, fmt.Sprintf("https://localhost:%d", ports[1])
	serve(t, m, dir, site, client, url)
	return client, url
}

// serve starts an nginx with the servers of site, in the folder dir, and waits until /readyz of the machine's server
// answers below url.
func serve(t *testing.T, m *system.Machine, dir, site string, client *http.Client, url string) {
	t.Helper()
	path := program(t, "nginx")
	if path == "" {
		t.Fatal("there is no nginx: type tools/prepare")
	}
	// A single process, so that it ends completely.
	whole := "daemon off;\nmaster_process off;\npid nginx.pid;\nerror_log stderr;\nevents { worker_connections 64; }\nhttp {\naccess_log off;\n"
	if os.Geteuid() == 0 {
		whole = "user root;\n" + whole // the owner of the folder and the key
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
}

// TestBelowAPath checks the console and the API behind an nginx that serves them below a path and removes the path from
// requests: pages find their files from every depth, logins work, and elasticjob reaches the API.
func TestBelowAPath(t *testing.T) {
	t.Parallel()
	m := system.New(t, bin)
	m.Start()
	m.OK("POST", "/api/users", fmt.Sprintf(`{"name":"ann","password":%q,"role":"admin"}`, password))
	ports, err := child.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	location := replace(t, read(t, "testdata/nginx-subpath.conf"), "http://127.0.0.1:8899/", m.URL()+"/")
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	outer, client := fmt.Sprintf("http://127.0.0.1:%d", ports[0]), &http.Client{Transport: transport}
	base := outer + "/jobs"
	serve(t, m, t.TempDir(), fmt.Sprintf("server { listen 127.0.0.1:%d; %s }\n", ports[0], location), client, base)
	source := regexp.MustCompile(`src="([^"]+)"`)
	for _, path := range []string{"", "/", "/jobs", "/jobs/job/my_job", "/executions/execution/a@-@b/log",
		"/api/docs"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "text/html")
		page, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(page.Body)
		_ = page.Body.Close()
		found := source.FindStringSubmatch(string(text))
		if err != nil || found == nil {
			t.Errorf("%s: %s %v\n%s", path, page.Status, err, text)
			continue
		}
		script, err := page.Request.URL.Parse(found[1]) // relative to the address after redirects
		if err != nil || !strings.HasPrefix(script.String(), base+"/static/") {
			t.Errorf("%s: the script is %v, %v", path, script, err)
			continue
		}
		if status, text := ask(t, client, "GET", script.String(), ""); status != http.StatusOK ||
			!strings.Contains(text, "import") {
			t.Errorf("%s: %s: %d %s", path, script, status, text)
		}
	}
	if status, _ := ask(t, client, "GET", base+"/api/app/list", ""); status != http.StatusUnauthorized {
		t.Errorf("without a login: %d", status)
	}
	listed := exec.Command(filepath.Join(bin.Dir, "elasticjob"), "app", "list", "--server", base)
	listed.Env = []string{"ELASTICJOB_TOKEN=" + accessToken(t, client, base), "HOME=" + t.TempDir()}
	if out, err := listed.CombinedOutput(); err != nil {
		t.Errorf("elasticjob app list: %v\n%s", err, out)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client.Jar = jar
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/api/session",
		strings.NewReader(fmt.Sprintf(`{"username":"ann","password":%q}`, password)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Origin", outer)
	req.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if status, text := ask(t, client, "GET", base+"/api/app/list", ""); status != http.StatusOK {
		t.Errorf("after the login: %s, %d %s", answer.Status, status, text)
	}
}

// accessToken logs ann in as a program.
func accessToken(t *testing.T, client *http.Client, base string) string {
	t.Helper()
	status, text := ask(t, client, "POST", base+"/api/login", fmt.Sprintf(`{"username":"ann","password":%q}`, password))
	var login struct{ AccessToken string }
	if err := json.Unmarshal([]byte(text), &login); err != nil || login.AccessToken == "" {
		t.Fatalf("log in: %d %s", status, text)
	}
	return login.AccessToken
}

// stream starts a GET request with this header and returns the lines of the response as they arrive.
func stream(t *testing.T, client *http.Client, url, header string) (lines *bufio.Reader, end func()) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	name, value, _ := strings.Cut(header, ": ")
	r.Header.Set(name, value)
	resp, err := client.Do(r)
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
