package kubernetesserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// Answer is a response of the API.
type Answer struct {
	Status int
	Body   string
}

// Content types of request bodies.
const (
	JSON       = "application/json"
	YAML       = "application/yaml"
	MergePatch = "application/merge-patch+json"
	// Apply is the content type of server-side apply. The body may be YAML or JSON.
	Apply = "application/apply-patch+yaml"
)

// Call sends a request as an administrator, and returns the response with any status.
func (c *Cluster) Call(t testing.TB, method, path, body, contentType string) Answer {
	t.Helper()
	a, err := c.request(t.Context(), method, path, strings.NewReader(body), contentType)
	if err != nil {
		t.Fatalf("kubernetesserver: %v", err)
	}
	return a
}

// OK sends a request with a JSON body as an administrator, and fails the test if the status is 300 or above. It decodes
// the response into the value, unless that is nil.
func (c *Cluster) OK(t testing.TB, method, path, body string, into any) {
	t.Helper()
	a := c.Call(t, method, path, body, JSON)
	if a.Status >= http.StatusMultipleChoices {
		t.Fatalf("%s %s: %d %s", method, path, a.Status, a.Body)
	}
	if into != nil {
		if err := json.Unmarshal([]byte(a.Body), into); err != nil {
			t.Fatalf("%s %s: %v: %s", method, path, err, a.Body)
		}
	}
}

// Namespace creates a namespace with these labels, and returns when pods can be created in it. The namespace is deleted
// at the end of the test.
func (c *Cluster) Namespace(t testing.TB, name string, labels map[string]string) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": name, "labels": labels}})
	if err != nil {
		t.Fatal(err)
	}
	c.OK(t, http.MethodPost, "/api/v1/namespaces", string(text), nil)
	t.Cleanup(func() {
		if _, err := c.request(context.Background(), http.MethodDelete, "/api/v1/namespaces/"+name, nil,
			""); err != nil {
			t.Logf("kubernetesserver: delete the namespace %s: %v", name, err)
		}
	})
	if err := await("wait for the service account of "+name, nil, func(ctx context.Context) error {
		a, err := c.request(ctx, http.MethodGet, "/api/v1/namespaces/"+name+"/serviceaccounts/default", nil, "")
		if err == nil && a.Status != http.StatusOK {
			err = fmt.Errorf("%d %s", a.Status, a.Body)
		}
		return err
	}); err != nil {
		t.Fatalf("kubernetesserver: %v", err)
	}
}

// Token returns a token of a service account, valid for an hour.
func (c *Cluster) Token(t testing.TB, namespace, account string) string {
	t.Helper()
	var created struct{ Status struct{ Token string } }
	c.OK(t, http.MethodPost, "/api/v1/namespaces/"+namespace+"/serviceaccounts/"+account+"/token",
		`{"spec":{"expirationSeconds":3600}}`, &created)
	return created.Status.Token
}

// CallAs sends a request with a token instead of a certificate, and returns the response with any status.
func (c *Cluster) CallAs(t testing.TB, token, method, path, body string) Answer {
	t.Helper()
	withoutCertificate := c.pair.config.Clone()
	withoutCertificate.Certificates = nil
	transport := &http.Transport{TLSClientConfig: withoutCertificate, DisableKeepAlives: true}
	req, err := http.NewRequestWithContext(t.Context(), method, "https://"+c.Address()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", JSON)
	a, err := do(&http.Client{Transport: transport}, req)
	if err != nil {
		t.Fatalf("kubernetesserver: %v", err)
	}
	return a
}

// request sends a request to the API as an administrator.
func (c *Cluster) request(ctx context.Context, method, path string, body io.Reader, contentType string) (Answer,
	error) {
	return c.ask(ctx, method, "https://"+c.Address()+path, body, contentType)
}

// ask sends a request to any server of the Kubernetes.
func (c *Cluster) ask(ctx context.Context, method, url string, body io.Reader, contentType string) (Answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return Answer{}, err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	return do(c.client, req)
}

func do(client *http.Client, req *http.Request) (Answer, error) {
	resp, err := client.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return Answer{resp.StatusCode, string(text)}, err
}

// checkKubelet returns an error unless a kubelet is healthy according to its health port, which does not use TLS.
func (c *Cluster) checkKubelet(ctx context.Context, host string, port int) error {
	a, err := c.ask(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, strconv.Itoa(port))+"/healthz", nil, "")
	if err == nil && a.Status != http.StatusOK {
		err = fmt.Errorf("the kubelet answers %d: %s", a.Status, a.Body)
	}
	return err
}
