package api_test

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/api/certificate"
	"github.com/elasticjob-go/elasticjob/scheduler"
	"github.com/elasticjob-go/elasticjob/test/certificates"
)

// proofs signs with its own key; "" stands for an unknown key.
type proofs string

func (k proofs) Sign(purpose string, what []byte) []byte {
	if k == "" {
		return nil
	}
	h := hmac.New(sha256.New, []byte(k))
	_, _ = io.WriteString(h, purpose+" "+string(what))
	return h.Sum(nil)
}

func (k proofs) Verify(purpose string, what, code []byte) bool {
	return k != "" && hmac.Equal(k.Sign(purpose, what), code)
}

// keep returns the TLS settings of a server.
func keep(t *testing.T, ca *certificates.Authority) *certificate.Keeper {
	t.Helper()
	cert, key := ca.Good().Write(t, t.TempDir())
	k, err := certificate.Open(certificate.Files{Cert: cert, Key: key, CA: ca.File}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// browser returns a client that trusts an authority and uses HTTP/2 or HTTP/1.1.
func browser(t *testing.T, ca *certificates.Authority, h2 bool) *http.Client {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool()}, ForceAttemptHTTP2: h2}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// fetch sends a request and reads the whole answer. Headers are "Name: value".
func fetch(t *testing.T, client *http.Client, method, url string, body io.Reader, headers ...string) (*http.Response,
	string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

func secure(url string) string { return strings.Replace(url, "http://", "https://", 1) }

// TestOverTLS: requests, streams and forwarding behave the same over HTTP/2 and HTTP/1.1.
func TestOverTLS(t *testing.T) {
	t.Parallel()
	ca := certificates.New(t)
	b, f := newFakeScheduler(), &files{}
	leader := secure(serveUntilEnd(t, api.Options{Scheduler: b, Logs: f, TLS: keep(t, ca), Proofs: proofs("k")}))
	follower := secure(follower(t, strings.TrimPrefix(leader, "https://"),
		api.Options{TLS: keep(t, ca), Proofs: proofs("k")}))
	for name, c := range map[string]struct {
		url string
		h2  bool
	}{
		"leader, HTTP/2": {leader, true}, "leader, HTTP/1.1": {leader, false},
		"follower, HTTP/2": {follower, true}, "follower, HTTP/1.1": {follower, false},
	} {
		t.Run(name, func(t *testing.T) {
			client := browser(t, ca, c.h2)
			answer, text := fetch(t, client, "GET", c.url+"/api/app/list", nil)
			if answer.StatusCode != 200 || (answer.ProtoMajor == 2) != c.h2 || answer.TLS.Version < tls.VersionTLS12 {
				t.Errorf("%d %s, %s", answer.StatusCode, text, answer.Proto)
			}
			if answer, text = fetch(t, client, "POST", c.url+"/api/app",
				strings.NewReader(swap(appDocument, "my_app",
					"a-"+strings.Trim(strings.ToLower(strings.NewReplacer(", ", "-", "/", "-", ".",
						"-").Replace(name)), "-")))); answer.StatusCode != 200 {
				t.Errorf("publish: %d %s", answer.StatusCode, text)
			}
			// A body that is too large, with and without its length. The client gets the answer, and the connection
			// remains open.
			for _, body := range []io.Reader{strings.NewReader(strings.Repeat(" ", 3<<20)),
				io.LimitReader(spaces{}, 3<<20)} {
				answer, text = fetch(t, client, "POST", c.url+"/api/app", body)
				if e := readError(t, answer, text); answer.StatusCode != 413 || e.Error.Code != "body_too_large" {
					t.Errorf("too large: %d %s", answer.StatusCode, text)
				}
			}
			// A stream that continues until its task ends.
			b.place("t1", true)
			f.set(stdout, "one\n")
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, "GET", c.url+"/api/task/t1/logs?follow=true", nil)
			if err != nil {
				t.Fatal(err)
			}
			stream, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = stream.Body.Close() }()
			out := bufio.NewReader(stream.Body)
			line(t, out, "one\n")
			if answer, text := fetch(t, client, "GET", c.url+"/healthz", nil); answer.StatusCode != 200 {
				t.Errorf("beside a stream: %d %s", answer.StatusCode, text)
			}
			f.set(stdout, "one\ntwo\n")
			line(t, out, "two\n")
			b.place("t1", false)
			if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 {
				t.Errorf("the end: %q, %v", rest, err)
			}
		})
	}
}

// spaces never ends.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// TestAStreamOverHTTP2BreaksOffAtTheEnd: when the server shuts down, the client can see that the stream is incomplete.
func TestAStreamOverHTTP2BreaksOffAtTheEnd(t *testing.T) {
	t.Parallel()
	ca := certificates.New(t)
	b, f := newFakeScheduler(), &files{}
	b.place("t1", true)
	f.set(stdout, "one\n")
	url, stop, ended := serve(t, api.Options{Scheduler: b, Logs: f, FollowInterval: time.Millisecond,
		TLS: keep(t, ca)})
	answer, err := browser(t, ca, true).Get(secure(url) + "/api/task/t1/logs?follow=true")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	out := bufio.NewReader(answer.Body)
	line(t, out, "one\n")
	stop()
	if rest, err := io.ReadAll(out); err == nil {
		t.Errorf("it ended as if that were all, after %q", rest)
	}
	if err := await(t, "the server", ended); err != nil {
		t.Error(err)
	}
}

// TestClientsWithoutTLSAreRefused: a server with TLS tells clients without TLS to use HTTPS, and refuses old versions.
func TestClientsWithoutTLSAreRefused(t *testing.T) {
	t.Parallel()
	ca := certificates.New(t)
	url := serveUntilEnd(t, api.Options{Scheduler: newFakeScheduler(), TLS: keep(t, ca)})
	r, err := http.NewRequestWithContext(t.Context(), "GET", url+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	plain := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := plain.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if answer.StatusCode != 400 || !strings.Contains(string(text), "HTTPS") {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
	for _, version := range []uint16{tls.VersionTLS10, tls.VersionTLS11, tls.VersionTLS12, tls.VersionTLS13} {
		conn, err := (&tls.Dialer{Config: &tls.Config{RootCAs: ca.Pool(), MinVersion: version,
			MaxVersion: version}}).DialContext(t.Context(), "tcp", addressOf(url))
		if (err == nil) != (version >= tls.VersionTLS12) {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
		if err == nil {
			_ = conn.Close()
		}
	}
}

// TestLeaderAndFollowerDisagreeOnTLS: the follower sends nothing that others could read, and the answer says how to
// fix the settings.
func TestLeaderAndFollowerDisagreeOnTLS(t *testing.T) {
	t.Parallel()
	ca, other := certificates.New(t), certificates.New(t)
	b := newFakeScheduler()
	plain := addressOf(serveUntilEnd(t, api.Options{Scheduler: b}))
	withTLS := addressOf(serveUntilEnd(t, api.Options{Scheduler: b, TLS: keep(t, ca)}))
	named := strings.Replace(withTLS, "127.0.0.1", "127.0.0.2", 1)
	l, err := net.Listen("tcp", named)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", withTLS)
			if err != nil {
				_ = from.Close()
				return
			}
			go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
			go func() { _, _ = io.Copy(from, to); _ = from.Close() }()
		}
	}()
	t.Cleanup(func() { _ = l.Close() })
	for name, c := range map[string]struct {
		leader string
		own    *certificate.Keeper
		code   string
		says   string
	}{
		"the leader has none":         {plain, keep(t, ca), "tls_differs", "does not speak TLS"},
		"the follower has none":       {withTLS, nil, "tls_differs", "speaks TLS, and this server does not"},
		"the CA is another":           {withTLS, keep(t, other), "leader_not_trusted", "--tls-ca"},
		"the certificate's names are": {named, keep(t, ca), "leader_not_trusted", "127.0.0.2"},
	} {
		t.Run(name, func(t *testing.T) {
			url, client := follower(t, c.leader, api.Options{TLS: c.own}),
				&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			if c.own != nil {
				url, client = secure(url), browser(t, ca, true)
				if name == "the CA is another" {
					client = browser(t, other, true)
				}
			}
			for _, method := range []string{"GET", "POST"} {
				path := map[string]string{"GET": "/api/app/list", "POST": "/api/job/my_job/trigger"}[method]
				answer, text := fetch(t, client, method, url+path, nil, "Authorization: Bearer hush")
				e := readError(t, answer, text)
				if answer.StatusCode != 503 || e.Error.Code != c.code || !strings.Contains(e.Error.Message, c.says) ||
					(method == "POST") != strings.HasPrefix(e.Error.Message, "this request changed nothing") {
					t.Errorf("%s: %d %s", method, answer.StatusCode, text)
				}
			}
		})
	}
	if b.changed() != 0 {
		t.Errorf("%d changes", b.changed())
	}
}

// TestForwardingIsProven: the headers of a forwarded request are accepted only from servers of the cluster.
func TestForwardingIsProven(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	leader := serveUntilEnd(t, api.Options{Scheduler: b, Proofs: proofs("k")})
	const by, to, proof = "X-Elasticjob-Forwarded-By: follower:1", "X-Elasticjob-Forwarded-For: 10.1.2.3",
		"X-Elasticjob-Forwarded-Proof: "
	client := browser(t, certificates.New(t), false)
	for name, headers := range map[string][]string{
		"no proof":     {by, to},
		"a wrong one":  {by, to, proof + "AAAA"},
		"no base64":    {by, to, proof + "%"},
		"by alone":     {by},
		"for alone":    {to},
		"proof alone":  {proof + "AAAA"},
		"an empty one": {by, to, proof},
		"two":          {by, to, to, proof + "AAAA"},
	} {
		for _, path := range []string{"/api/app/list", "/healthz", "/none"} {
			answer, text := fetch(t, client, "GET", leader+path, nil, headers...)
			if e := readError(t, answer, text); answer.StatusCode != 403 || e.Error.Code != "bad_forwarding" {
				t.Errorf("%s, %s: %d %s", name, path, answer.StatusCode, text)
			}
		}
	}
	// The headers of a correct follower are accepted; with any change they are refused.
	sent := make(chan *http.Request, 1)
	spy := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { sent <- r })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: spy, ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	via := follower(t, l.Addr().String(), api.Options{Proofs: proofs("k")})
	_, _ = ask(t, "GET", via+"/api/app/list/?x=1", "")
	r := <-sent
	right := []string{}
	for _, name := range []string{"By", "For", "Proof"} {
		right = append(right, "X-Elasticjob-Forwarded-"+name+": "+r.Header.Get("X-Elasticjob-Forwarded-"+name))
	}
	if r.Header.Get("X-Elasticjob-Forwarded-For") != "127.0.0.1" {
		t.Errorf("%q", right)
	}
	for path, status := range map[string]int{"GET /api/app/list?x=1": 400, /* it knows no x */
		"GET /api/app/list": 403, "GET /api/app/list?x=2": 403, "POST /api/app/list?x=1": 403,
		"GET /api/job/jobs?x=1": 403} {
		method, path, _ := strings.Cut(path, " ")
		if answer, text := fetch(t, client, method, leader+path, nil, right...); answer.StatusCode != status {
			t.Errorf("%s %s: %d %s, want %d", method, path, answer.StatusCode, text, status)
		}
	}
	right[1] = "X-Elasticjob-Forwarded-For: 127.0.0.2"
	if answer, text := fetch(t, client, "GET", leader+"/api/app/list?x=1", nil, right...); answer.StatusCode != 403 {
		t.Errorf("another client: %d %s", answer.StatusCode, text)
	}
	// Through followers: one of this cluster, one of another cluster, and one that does not know its key yet.
	for key, want := range map[string]int{"k": 200, "other": 403, "": 503} {
		here := follower(t, addressOf(leader), api.Options{Proofs: proofs(key)})
		if answer, text := fetch(t, client, "GET", here+"/api/app/list", nil); answer.StatusCode != want {
			t.Errorf("key %q: %d %s", key, answer.StatusCode, text)
		}
	}
	unknown := newFakeScheduler()
	unknown.health = scheduler.Health{Leading: true}
	early := serveUntilEnd(t, api.Options{Scheduler: unknown, Proofs: proofs("")})
	if answer, text := fetch(t, client, "GET", early+"/api/app/list", nil, right...); answer.StatusCode != 503 {
		t.Errorf("a leader without the key: %d %s", answer.StatusCode, text)
	}
}
