package api_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start serves the API on a loopback port until the test ends.
func start(t *testing.T, opts api.Options) *httptest.Server {
	t.Helper()
	if opts.Logs == nil {
		opts.Logs = &files{}
	}
	if opts.Now == nil {
		opts.Now = func() time.Time { return noon }
	}
	if opts.FollowInterval == 0 {
		opts.FollowInterval = time.Millisecond
	}
	if opts.Access == nil {
		opts.Access = noUsers{}
	}
	server := httptest.NewServer(api.New(opts))
	t.Cleanup(server.Close)
	t.Cleanup(server.Client().CloseIdleConnections)
	return server
}

// call sends a request to a server, reads the whole answer and checks it against the API's description; see ask.
func call(t *testing.T, server *httptest.Server, method, path, body string, headers ...string) (*http.Response,
	string) {
	t.Helper()
	answer, text := ask(t, method, server.URL+path, body, headers...)
	if err := describedAPI().CheckAnswer(answer.Request, answer, []byte(text)); err != nil {
		t.Errorf("this is not as GET /api/openapi.json has it: %v", err)
	}
	return answer, text
}

// oneArtifact is the only artifact of a server.
func oneArtifact(t *testing.T, name string) func(string) (string, bool) {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte("binary of "+name), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(asked string) (string, bool) { return file, asked == name }
}
