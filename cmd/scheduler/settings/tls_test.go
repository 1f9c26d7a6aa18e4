package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/certificates"
)

func TestCertificateFlags(t *testing.T) {
	t.Parallel()
	w, ca := newWorld(t), certificates.New(t)
	folder := func(name string, p certificates.Pair) (cert, key string) {
		dir := filepath.Join(w.dir, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		return p.Write(t, dir)
	}
	cert, key := folder("good", ca.Good())
	otherCert, _ := folder("other", ca.Good())
	oldCert, oldKey := folder("old", ca.Issue(time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)))
	openCert, openKey := folder("open", ca.Good())
	if err := os.Chmod(openKey, 0o640); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"--tls-cert " + cert:                                            "--tls-cert and --tls-key belong together",
		"--tls-key " + key:                                              "--tls-cert and --tls-key belong together",
		"--tls-ca " + ca.File:                                           "--tls-ca has no effect without --tls-cert",
		"--tls-cert " + otherCert + " --tls-key " + key:                 "are not a certificate and its key",
		"--tls-cert " + openCert + " --tls-key " + openKey:              "chmod 600",
		"--tls-cert " + cert + ".none --tls-key " + key:                 "no such file",
		"--tls-cert " + cert + " --tls-key " + key + " --tls-ca " + key: "holds no certificate",
	} {
		_, err := w.settings(append([]string{"--local"}, strings.Fields(args)...)...)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "PRIVATE KEY") {
			t.Errorf("%s: want %q in: %v", args, want, err)
		}
	}
	for args, note := range map[string]string{
		"--tls-cert " + cert + " --tls-key " + key:                          "",
		"--tls-cert " + cert + " --tls-key " + key + " --tls-ca " + ca.File: "",
		"--tls-cert " + oldCert + " --tls-key " + oldKey:                    "expired at",
		"--tls-cert " + cert + " --tls-key " + key +
			" --advertise jobs.example:8899": "reach this server as jobs.example will not accept its certificate",
	} {
		s, err := w.settings(append([]string{"--local"}, strings.Fields(args)...)...)
		if err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		if notes := strings.Join(s.report.notes, "\n"); !strings.Contains(notes, note) ||
			(notes == "") != (note == "") {
			t.Errorf("%s: notes %q, want %q", args, notes, note)
		}
		if s.config.Scheme() != "https" {
			t.Errorf("%s: %s", args, s.config.Scheme())
		}
	}
}
