package server

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
)

// parseSettings returns the settings of a command line that an ordinary user types.
func parseSettings(t *testing.T, args ...string) (settings.Config, *settings.Settings) {
	t.Helper()
	flags := pflag.NewFlagSet("scheduler", pflag.ContinueOnError)
	s := settings.New(flags)
	if err := errors.Join(flags.Parse(args), s.Complete(nil, 1000)); err != nil {
		t.Fatal(err)
	}
	return s.Config(), s
}

func file(t *testing.T, dir, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestExecutorsGetTheCA checks that executors get the CA and learn that TLS is used, but never get a key.
func TestExecutorsGetTheCA(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(nil)
	server.Close()
	certificate := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	private, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	key := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	dir := t.TempDir()
	keyFile := file(t, dir, "key", key, 0o640)
	ca := file(t, dir, "company", certificate, 0o644)
	big := file(t, dir, "bundle", strings.Repeat(certificate, 20), 0o600)
	for name, c := range map[string]struct {
		args []string
		want map[string]string
		note string
	}{
		"plain": {[]string{"--mesos", "http://h:1"}, nil, ""},
		"a CA file that also has the key": {
			[]string{"--mesos", "https://h:1", "--mesos-ca-file",
				file(t, dir, "ca", "# ours\n"+key+certificate, 0o600)},
			map[string]string{"LIBPROCESS_SSL_ENABLED": "true", "ELASTICJOB_MESOS_CA": certificate}, "",
		},
		"a client certificate": {
			[]string{"--mesos", "https://h:1", "--mesos-ca-file", file(t, dir, "ca2", certificate, 0o600),
				"--mesos-cert-file", file(t, dir, "cert", certificate, 0o600), "--mesos-key-file", keyFile},
			map[string]string{"LIBPROCESS_SSL_ENABLED": "true", "ELASTICJOB_MESOS_CA": certificate},
			"chmod 600 " + keyFile,
		},
		"a bundle": {
			[]string{"--mesos", "https://h:1", "--mesos-ca-file", big},
			map[string]string{"LIBPROCESS_SSL_ENABLED": "true", "ELASTICJOB_MESOS_CA": "system"}, "too large",
		},
		"a company's CA": {[]string{"--mesos", "http://h:1", "--ca-file", ca},
			map[string]string{"ELASTICJOB_CA_CERTIFICATES": certificate}, ""},
		"a company's CA beside the cluster's": {
			[]string{"--mesos", "https://h:1", "--ca-file", ca, "--mesos-ca-file", big},
			map[string]string{"LIBPROCESS_SSL_ENABLED": "true", "ELASTICJOB_MESOS_CA": "system",
				"ELASTICJOB_CA_CERTIFICATES": certificate}, "too large",
		},
		"a company's CA on this machine": {[]string{"--local", "--data-dir", dir, "--ca-file", ca},
			map[string]string{"ELASTICJOB_SECRETS_DIR": filepath.Join(dir, "secrets"),
				"ELASTICJOB_CA_CERTIFICATES": certificate}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, s := parseSettings(t, c.args...)
			got := coreOptions(&config, time.UTC, "")
			if diff := cmp.Diff(c.want, got.ExecutorEnvironment); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if named := got.HostnameVariable == "ELASTICJOB_AGENT_HOSTNAME"; named != (c.want["LIBPROCESS_SSL_ENABLED"] != "") {
				t.Errorf("the agent's hostname is given as %q", got.HostnameVariable)
			}
			var shown bytes.Buffer
			if err := s.Show(&shown); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(shown.String(), c.note) || strings.Contains(shown.String(), "PRIVATE KEY") {
				t.Errorf("it says:\n%s", &shown)
			}
		})
	}
}

// TestUserOfExecutors checks that each executor names the user that it runs as, because Mesos keeps the framework's
// first user. The cluster of --local knows only the user who started it.
func TestUserOfExecutors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		want func(settings.Config) string
	}{
		"named":        {[]string{"--mesos", "http://h:1", "--mesos-user", "batch"}, func(settings.Config) string { return "batch" }},
		"by default":   {[]string{"--mesos", "http://h:1"}, func(c settings.Config) string { return c.Mesos.User() }},
		"this machine": {[]string{"--local"}, func(settings.Config) string { return "" }},
	} {
		config, _ := parseSettings(t, c.args...)
		o := coreOptions(&config, time.UTC, "")
		if want := c.want(config); o.ExecutorUser != want || (want == "" && name != "this machine") {
			t.Errorf("%s: %q, want %q", name, o.ExecutorUser, want)
		}
		if o.ExecutorShutdown <= o.KillGrace+time.Second {
			t.Errorf("%s: agents give %v for tasks' %v", name, o.ExecutorShutdown, o.KillGrace)
		}
	}
}
