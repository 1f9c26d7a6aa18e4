package users

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/adminsocket"
)

// serveOn serves requests on the path of the admin socket of a folder until the test ends.
func serveOn(t *testing.T, dir string, answer http.HandlerFunc) {
	t.Helper()
	l, err := net.Listen("unix", adminsocket.Path(dir))
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: answer}}
	server.Start()
	t.Cleanup(server.Close)
}

// TestCommandsBesideAServer: the commands send requests that the API accepts, and print its answers.
func TestCommandsBesideAServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var asked []string
	serveOn(t, dir, func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body)
		asked = append(asked, fmt.Sprintf("%s %s %s", r.Method, r.URL.EscapedPath(), body.String()))
		switch r.Method + " " + r.URL.Path {
		case "GET /api/users":
			fmt.Fprint(w, `[{"name":"ann","role":"viewer","apps":["a-*"],"created":"2026-11-23T04:00:00Z"}]`)
		case "PUT /api/users/ann":
			fmt.Fprint(w, `{"name":"ann","role":"admin","apps":["a-*"],"created":"2026-11-23T04:00:00Z"}`)
		case "POST /api/tokens":
			fmt.Fprint(w, `{"name":"ci","role":"admin","token":"ejt_1_2"}`)
		case "DELETE /api/tokens/ci":
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"error":{"code":"token_not_found","message":"there is no API token ci","fields":[]}}`)
		case "POST /api/users":
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprint(w, `{"error":{"code":"invalid","message":"bad","fields":[{"field":"password","value":"","message":"is too short"}]}}`)
		case "GET /api/tokens":
			w.WriteHeader(http.StatusBadGateway)
		default:
			fmt.Fprint(w, `true`)
		}
	})
	for args, want := range map[string]string{
		"user list":                              "ann    viewer   a-*    2026-11-23T04:00:00Z",
		"user set ann --role admin":              "user ann changed: admin for a-*",
		"user passwd ann":                        "password of user ann changed",
		"token add ci --role admin --expires 1h": "ejt_1_2",
		"user add ben --role admin":              "!password: is too short",
		"token rm ci":                            "!there is no API token ci",
		"token list":                             "!502",
	} {
		out, _, err := runCommand(t, "a password", append(strings.Split(args, " "), "--data-dir", dir)...)
		if want, fails := strings.CutPrefix(want, "!"); fails != (err != nil) ||
			!strings.Contains(out+fmt.Sprint(err), want) || err != nil && strings.Contains(err.Error(), "a password") {
			t.Errorf("%s: %q, %v, want %q", args, out, err, want)
		}
	}
	all := strings.Join(asked, "\n")
	for _, want := range []string{
		`PUT /api/users/ann {"apps":["a-*"],"role":"admin"}`, `PUT /api/users/ann/password {"password":"a password"}`,
		`POST /api/users {"name":"ben","password":"a password","role":"admin"}`, `POST /api/tokens {"expires":"20`,
		`DELETE /api/tokens/ci `,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is missing in\n%s", want, all)
		}
	}
}

// TestStaleSocket: a socket that an earlier server has left does not count as a running server.
func TestStaleSocket(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: adminsocket.Path(dir)})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	if err := stale.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := runCommand(t, "", "user", "list", "--data-dir", dir); err == nil ||
		!strings.Contains(err.Error(), "no registry") {
		t.Errorf("with a stale socket: %v", err)
	}
}
