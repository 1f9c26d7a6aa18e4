package settings

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/test/certificates"
)

// TestCertificateAuthorities checks the file of --ca-file for servers and for commands that only need a database.
func TestCertificateAuthorities(t *testing.T) {
	t.Parallel()
	w, own := newWorld(t), certificates.New(t)
	w.env["ELASTICJOB_CA_FILE"] = own.File
	s, err := w.settings("--local", "--data-dir", w.dir)
	if err != nil || s.Config().CA.PEM != string(own.PEM) {
		t.Errorf("%v, %q", err, s.Config().CA.PEM)
	}
	missing, note := filepath.Join(w.dir, "missing"), w.file(t, "note", "hello", 0o600)
	for path, want := range map[string]string{
		missing: "open " + missing + ": no such file or directory",
		note:    note + " contains no certificate in PEM form",
		w.file(t, "key", string(own.Good().Key), 0o600): `contains a block of type "PRIVATE KEY": only certificates`,
		w.dir: "is a directory",
	} {
		env := map[string]string{"ELASTICJOB_CA_FILE": path}
		parsed := func() *Settings {
			flags := pflag.NewFlagSet("scheduler", pflag.ContinueOnError)
			s := New(flags)
			if err := flags.Parse([]string{"--local", "--data-dir", w.dir}); err != nil {
				t.Fatal(err)
			}
			return s
		}
		var history HistoryDatabase
		_, historyErr := history.Read(func(name string) string { return env[name] })
		for _, c := range []struct {
			source string
			err    error
		}{
			{"ELASTICJOB_CA_FILE: ", parsed().Complete(env, 1000)},
			{"ELASTICJOB_CA_FILE: ", parsed().CompleteRegistry(env)},
			{"--ca-file: ", historyErr},
		} {
			if c.err == nil || !strings.HasPrefix(c.err.Error(), c.source) || !strings.Contains(c.err.Error(), want) {
				t.Errorf("%v is not %s%s", c.err, c.source, want)
			}
		}
		if err := parsed().CompleteAddress(env); err != nil {
			t.Errorf("a health check reads the file: %v", err)
		}
	}
}
