package settings

import (
	"strings"
	"testing"
	"time"
)

const inSQLFlag = "mysql://root:p%40ss@db.example.com/elasticjob"

func TestWhereTheRegistryInSQLIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	file := w.file(t, "registry", inSQLFlag+"\n", 0o600)
	for name, test := range map[string]struct {
		args  []string
		env   map[string]string
		notes bool
	}{
		"flag":        {args: []string{"--registry", inSQLFlag}, notes: true},
		"variable":    {env: map[string]string{"ELASTICJOB_REGISTRY": inSQLFlag}},
		"file":        {args: []string{"--registry-file", file}},
		"no password": {args: []string{"--registry", "mysql://root@db.example.com/elasticjob"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if test.env != nil {
				w.env = test.env
			}
			s, err := w.settings(append(test.args, "--mesos", "http://h:5050", "--registry-lease", "20s")...)
			if err != nil {
				t.Fatal(err)
			}
			if o := s.config.Registry.Options(); !strings.Contains(o.DSN, "db.example.com") ||
				o.Lease != 20*time.Second || !s.config.Elected() {
				t.Errorf("lease %v, elected %v", o.Lease, s.config.Elected())
			}
			var out strings.Builder
			if err := s.Show(&out); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), "(hidden)@db.example.com/elasticjob") ||
				strings.Contains(out.String(), "ss@") || strings.Contains(s.config.RegistryLocation(), "@") {
				t.Errorf("shown: %s and %s", s.config.RegistryLocation(), out.String())
			}
			if noted := strings.Contains(out.String(), "ELASTICJOB_REGISTRY"); noted != (test.notes ||
				test.env != nil) {
				t.Errorf("warning about the readable password: %t\n%s", noted, out.String())
			}
		})
	}
}

func TestBadSettingsOfTheRegistryAreRefusedWithoutPassword(t *testing.T) {
	t.Parallel()
	mesos := []string{"--mesos", "http://h:5050"}
	for _, test := range []struct {
		args []string
		says string
	}{
		{[]string{"--registry", "mysql://root:hush@/x"}, "one host"},
		{[]string{"--registry", "postgres://root:hush@h/x"}, "mysql://user:password@host:3306/database"},
		{[]string{"--registry", "mysql://root:hush@h/x", "--zk", "h:2181"}, "--registry and --zk contradict"},
		{[]string{"--registry", "mysql://root:hush@h/x", "--registry-file", "f"}, "--registry and --registry-file contradict"},
		{[]string{"--registry", "mysql://root:hush@h/x", "--local"}, "--local and --registry contradict"},
		{[]string{"--registry", "mysql://root:hush@h/x", "--registry-lease", "1s"}, "--registry-lease 1s: must be 2s to 5m"},
		{[]string{"--registry", "mysql://root:hush@h/x", "--zk-namespace", "n"}, "--zk-namespace has no effect without --zk"},
		{[]string{"--registry-lease", "20s"}, "--registry-lease has no effect without --registry"},
		{[]string{"--registry", ""}, "--registry is empty"},
	} {
		_, err := newWorld(t).settings(append(test.args, mesos...)...)
		if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %v", test.args, err)
		}
	}
}
