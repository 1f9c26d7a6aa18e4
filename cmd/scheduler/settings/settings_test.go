package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings/commandline"
	"github.com/elasticjob-go/elasticjob/executor/agent"
)

// world is the environment in which a command line is read: its variables and a folder with files.
type world struct {
	dir string
	env map[string]string
}

func newWorld(t *testing.T) *world {
	return &world{dir: t.TempDir(), env: map[string]string{}}
}

func (w *world) file(t *testing.T, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// settings parses a command line and completes its settings.
func (w *world) settings(args ...string) (*Settings, error) {
	flags := pflag.NewFlagSet("scheduler", pflag.ContinueOnError)
	s := New(flags)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	return s, s.Complete(w.env, 1000) // root would need more flags
}

// shipped is the properties file as ElasticJob-Cloud ships it, with a role.
const shipped = `# Routable IP address
hostname=127.0.0.1
user=
mesos_url=zk://127.0.0.1:2181/mesos
# mesos_role=
zk_servers=127.0.0.1:2181
zk_namespace=elasticjob-cloud
zk_digest=me:hush
http_port=8898
job_state_queue_size=10000
#event_trace_rdb_driver=com.mysql.jdbc.Driver
#reconcile_interval_minutes=-1
# enable_partition_aware=false
auth_username=root
auth_password=pwd
`

func TestTheOriginalsFileIsRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, err := w.settings("--config", w.file(t, "shipped", shipped, 0o644))
	if err != nil {
		t.Fatal(err)
	}
	c := s.config
	got := []string{c.Mesos.Masters, c.ZooKeeper.Servers, c.ZooKeeper.namespace, string(c.ZooKeeper.Digest),
		c.API.Listen, c.API.Advertise, c.Mesos.Role, c.Mesos.user}
	if diff := cmp.Diff([]string{"zk://127.0.0.1:2181/mesos", "127.0.0.1:2181", "elasticjob-cloud", "me:hush",
		"127.0.0.1:8898", "127.0.0.1:8898", "", ""}, got); diff != "" {
		t.Error(diff)
	}
	var out strings.Builder
	if err := s.Show(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"auth_username in", "line 14", "job_state_queue_size", "(hidden)", "zk_servers in"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "hush") || strings.Contains(out.String(), "pwd") {
		t.Errorf("it shows a secret:\n%s", out.String())
	}
}

func TestNoPasswordOfAnAddressIsShown(t *testing.T) {
	t.Parallel()
	for _, password := range []string{"hush", "hu@sh", "hu/sh", "/hu@/sh@"} {
		s, err := newWorld(t).settings("--mesos", "zk://me:"+password+"@127.0.0.1:2181/mesos")
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := s.Show(&out); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), "sh@") ||
			!strings.Contains(out.String(), "zk://(hidden)@127.0.0.1:2181/mesos") {
			t.Errorf("it shows the password %q:\n%s", password, out.String())
		}
	}
}

// TestPrecedenceOfSources: the order of precedence is flag, variable with the prefix ELASTICJOB_, variable with
// the key's name, file, default.
func TestPrecedenceOfSources(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.file(t, "p", "mesos_url=http://file:1\nzk_servers=file:1\nmesos_role=file\nuser=file\nreconcile_interval_minutes=7\nhostname=127.0.0.2\n", 0o600)
	w.env = map[string]string{
		"mesos_role": "old", "zk_servers": "old:2", "user": "", "mesos_url": "http://old:2",
		"ELASTICJOB_ZK": "env:3", "ELASTICJOB_MESOS": "http://env:3", "zk_namespace": "",
	}
	s, err := w.settings("--config", path, "--mesos", "http://flag:4")
	if err != nil {
		t.Fatal(err)
	}
	c := s.config
	got := []string{c.Mesos.Masters, c.ZooKeeper.Servers, c.Mesos.Role, c.Mesos.user, c.ZooKeeper.namespace,
		c.Reconcile.String(), c.API.Listen}
	if diff := cmp.Diff([]string{"http://flag:4", "env:3", "old", "file", "elasticjob-cloud", "7m0s",
		"127.0.0.2:8899"}, got); diff != "" {
		t.Error(diff)
	}
	// Images often set their own variable VERSION. It must have no effect, even if it is empty.
	w.env["ELASTICJOB_VERSION"], w.env["ELASTICJOB_HELP"] = "3.0.1", ""
	// Without --config, variables with the names of the keys have no effect.
	s, err = w.settings("--mesos", "http://flag:4")
	if err != nil || s.config.Mesos.Role != "" || s.config.ZooKeeper.Servers != "env:3" {
		t.Errorf("%+v, %v", s.config, err)
	}
}

func TestAllWrongSettingsAreReportedTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	open := w.file(t, "open", "token", 0o644)
	empty := w.file(t, "empty", " \n", 0o600)
	words := w.file(t, "words", "two words", 0o600)
	good := w.file(t, "good", "t0ken\n", 0o600)
	principal := w.file(t, "principal", "ann s3cr3t", 0o600)
	wrong := w.file(t, "wrong", "hostnam=h\nhttp_port=x\nzk_server=h\n\nhostname=10.0.0.1\nmesos_url=http://h:1\nzk_servers=h\njob_state_queue_size=many\n", 0o600)
	strange := w.file(t, "strange", "app_cache_enable=true\nnovalue\nbg(){\n", 0o600)
	routable := w.file(t, "routable", strings.Replace(shipped, "hostname=127.0.0.1", "hostname=10.0.0.1", 1), 0o600)
	noZK := w.file(t, "nozk", "mesos_url=http://h:1\n", 0o600)
	for _, test := range []struct {
		args string
		want []string
	}{
		{"", []string{"name where jobs run"}},
		{"--local --zk h:2181 --mesos http://h:5050", []string{"--local and --zk contradict", "--local and --mesos contradict"}},
		{"--local --mesos-role r --zk-digest-file " + good, []string{"--mesos-role has no effect without --mesos", "--zk-digest-file has no effect without --zk"}},
		{"--mesos http://h:1 --local-cpus 2", []string{"--local-cpus has no effect without --local"}},
		{"--local --kubernetes --mesos http://h:1", []string{"--local and --kubernetes contradict", "--mesos and --kubernetes contradict", "--local and --mesos contradict"}},
		{"--local --keep-pods finished=1 --kubeconfig f --kubernetes-image i --kubernetes-show-unplaced", []string{"--kubernetes-show-unplaced has no effect without --kubernetes", "--keep-pods has no effect without --kubernetes", "--kubeconfig has no effect without --kubernetes", "--kubernetes-image has no effect without --kubernetes"}},
		{"--kubernetes --kubeconfig testdata/kubeconfig --executor-idle 1m --mesos-role r --keep-pods finished=many,for=x", []string{
			"--executor-idle has no effect with --kubernetes", "--mesos-role has no effect without --mesos", `--keep-pods: "finished=many": must be 0 to 1000`, `"for=x": must be 0s to 720h`}},
		{"--kubernetes --kubeconfig " + w.dir + "/none", []string{"no such file", "--kubeconfig"}},
		{"--kubernetes --kubeconfig " + good, []string{"name a kubeconfig with --kubeconfig"}},
		{"--mesos ftp://h:1", []string{"--mesos", "http://host:port"}},
		{"--mesos zk://h:1", []string{"--mesos"}},
		{"--mesos zk://me:hush@/mesos", []string{"--mesos"}},
		{"--mesos http://h:1 --zk zk://h:2181", []string{"without a scheme"}},
		{"--mesos http://h:1 --zk me:hush@h:2181", []string{"(hidden)@h:2181", "--zk-digest-file"}},
		{"--mesos me:hush@h:1", []string{"(hidden)@h:1", "http://host:port"}},
		{"--mesos http://h:1 --zk h:0,h2:2181", []string{"is not a port"}},
		{"--mesos http://h:1 --zk ,", []string{"has no host"}},
		{"--mesos http://h:1 --zk h:1/a//b --zk-session-timeout 1ms --zk-namespace /", []string{"chroot", "must be 1s to 5m", "--zk-namespace"}},
		{"--mesos http://h:1 --zk h --zk-digest-file " + good, []string{"must be user:password"}},
		{"--mesos http://h:1 --zk h --zk-digest-file " + w.dir + "/none", []string{"no such file"}},
		{"--mesos http://h:1 --mesos-credentials-file " + good, []string{"credentials for Mesos"}},
		{"--local --mesos-cert-file f --mesos-key-file f", []string{"--mesos-cert-file has no effect without --mesos", "--mesos-key-file has no effect without --mesos"}},
		{"--mesos https://h:1 --mesos-ca-file " + good + " --mesos-cert-file " + good, []string{"--mesos-cert-file and --mesos-key-file belong together"}},
		{"--mesos https://h:1 --mesos-key-file " + good, []string{"--mesos-cert-file and --mesos-key-file belong together"}},
		{"--mesos https://h:1 --mesos-key-file " + good + " --mesos-cert-file " + good, []string{"--mesos-cert-file has no effect without --mesos-ca-file"}},
		{"--mesos https://h:1 --mesos-ca-file " + good, []string{"--mesos-ca-file", "no certificate in PEM form"}},
		{"--mesos http://h:1 --mesos-principal bob --mesos-credentials-file " + principal, []string{`"bob"`, `"ann"`}},
		{"--mesos https://h:1 --mesos-ca-file " + good, []string{"no certificate"}},
		{"--local --listen 0.0.0.0:8899", []string{"add --advertise"}},
		{"--local --listen 8899", []string{"host:port"}},
		{"--local --advertise h", []string{"--advertise", "host:port"}},
		{"--local --advertise :80", []string{"has no host"}},
		{"--local --advertise 0.0.0.0:8080", []string{"--advertise", "0.0.0.0 means all addresses"}},
		{"--local --advertise [::]:8080", []string{"--advertise", ":: means all addresses"}},
		{"--local --advertise [::ffff:0.0.0.0]:8080", []string{"--advertise", "means all addresses"}},
		{"--local --api-token-file " + open, []string{"chmod 600"}},
		{"--local --api-token-file " + empty, []string{"is empty"}},
		{"--local --api-token-file " + words, []string{"one word"}},
		{"--local --api-token-file " + w.dir, []string{"is not a regular file"}},
		{"--local --reconcile-interval 1s --kill-grace -1s --log-level x --time-zone x", []string{"--reconcile-interval", "--kill-grace", "--log-level", "--time-zone"}},
		{"--local --kill-grace 25h", []string{"--kill-grace 25h0m0s: must be 0s to 24h"}},
		{"--config " + w.dir + "/none", []string{"no such file"}},
		{"--config " + wrong, []string{`line 1: unknown key "hostnam"; the nearest known one is hostname`, `line 3: unknown key "zk_server"; the nearest known one is zk_servers`, `"x" is not a port`, `line 8: "many"`}},
		{"--config " + strange, []string{`line 1: unknown key "app_cache_enable", and no known one is like it`, `line 2: unknown key "novalue", and no`, `line 3: unknown key "bg(){", and no`}},
		{"--local --executor-limit foo=1 --executor-limit package-bytes,package-tries=0", []string{
			`--executor-limit "foo=1": unknown; known are package-download, package-bytes,`,
			`--executor-limit "package-bytes": it has no value`,
			`--executor-limit "package-tries=0": must be a positive whole number`}},
		{"--local --local-cpus 1e7 --local-memory 1", []string{"--local-cpus 10000000: must be 0.01 to 1,000,000", "--local-memory 1: must be 32 to 1,000,000,000 (MB)"}},
		{"--local --data-dir /proc/elasticjob/data", []string{"--data-dir /proc/elasticjob/data: /proc belongs to the kernel"}},
		{"--local --data-dir " + good + "/data", []string{"--data-dir " + good + "/data: ", "name another folder"}},
		{"--mesos 127.0.0.1:5050", []string{`"127.0.0.1:5050" is not of the form http://host:port or zk://host:port/mesos`}},
		{"--config " + noZK, []string{"has no zk_servers"}},
		{"--local --config " + noZK, []string{"--local and mesos_url in", "contradict"}},
	} {
		_, err := w.settings(strings.Fields(test.args)...)
		if test.args != "" && err != nil && strings.Contains(err.Error(), "name where jobs run") {
			t.Errorf("%s: the error also asks where jobs run: %v", test.args, err)
		}
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: want %q in: %v", test.args, want, err)
			}
		}
		for _, hidden := range []string{"hush", "t0ken", "two words", "s3cr3t"} {
			if err != nil && strings.Contains(err.Error(), hidden) {
				t.Errorf("%s: it shows %q: %v", test.args, hidden, err)
			}
		}
	}
	for _, fine := range []string{"--local", "--kubernetes --kubeconfig testdata/kubeconfig",
		"--kubernetes --kubeconfig testdata/kubeconfig --zk h --kubernetes-namespace jobs --keep-pods failed=0,for=30m",
		"--mesos http://h:1", "--mesos zk://h,h2:1/mesos --zk h,h2:1/chroot",
		"--mesos zk://h/mesos --zk h --listen 10.0.0.1:1",
		"--local --listen 0.0.0.0:1 --advertise h:1", "--config " + routable,
		"--config " + routable + " --api-token-file " + good} {
		if _, err := w.settings(strings.Fields(fine)...); err != nil {
			t.Errorf("%s: %v", fine, err)
		}
	}
}

// TestEmptyValuesAreRefused: if a script's own variable is not set, the empty value must not switch off a setting.
func TestEmptyValuesAreRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args     []string
		variable string
		want     string
	}{
		{[]string{"--mesos", "http://h:1", "--zk", ""}, "", "--zk is empty: give it a value, or leave it out"},
		{[]string{"--mesos", ""}, "", "--mesos is empty: give it a value, or leave it out"},
		{[]string{"--local", "--api-token-file=", "--executor-limit", ""}, "", "--api-token-file is empty: give it a value, or leave it out\n--executor-limit is empty: give it a value, or leave it out"},
		{[]string{"--mesos", "http://h:1", "--zk", "h", "--zk-digest-file", ""}, "", "--zk-digest-file is empty: give it a value, or leave it out"},
		{[]string{"--config", ""}, "", "--config is empty: give it a value, or leave it out"},
		{[]string{"--mesos", "http://h:1"}, "ELASTICJOB_ZK", "ELASTICJOB_ZK is empty: give it a value, or leave it out"},
		{[]string{"--local"}, "ELASTICJOB_KILL_GRACE", "ELASTICJOB_KILL_GRACE is empty: give it a value, or leave it out"},
		{[]string{"--local", "--data-dir", "x"}, "ELASTICJOB_DATA_DIR", "ELASTICJOB_DATA_DIR is empty: give it a value, or leave it out"},
	} {
		w := newWorld(t)
		if test.variable != "" {
			w.env[test.variable] = ""
		}
		if _, err := w.settings(test.args...); err == nil || err.Error() != test.want {
			t.Errorf("%q, %q: %v\nwant %s", test.args, test.variable, err, test.want)
		}
	}
}

func TestFlagsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"unknown flag: --listn; did you mean --listen?":                         {"--listn", "x"},
		"unknown flag: --xyzzy":                                                 {"--xyzzy"},
		`--kill-grace "5": must be a duration with its unit, such as 30s or 5m`: {"--kill-grace", "5"},
		`--local-cpus "many": must be a number`:                                 {"--local-cpus", "many"},
		`--job-metrics "1.5": must be a whole number`:                           {"--job-metrics", "1.5"},
		`--local "perhaps": must be true or false`:                              {"--local=perhaps"},
	} {
		flags := pflag.NewFlagSet("scheduler", pflag.ContinueOnError)
		New(flags)
		if err := commandline.Explain(flags, flags.Parse(args)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
}

// TestNotes: these settings cause a warning at the start and in the output of --check-config, but no error.
func TestNotes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	digest := "mesos_url=http://h:1\nzk_servers=h:1\nhostname=\nzk_digest=me:hush\n"
	open, closed := w.file(t, "open", digest, 0o644), w.file(t, "closed", digest, 0o600)
	twice := w.file(t, "twice", "mesos_url=http://h:1\nzk_servers=one:1\n\nzk_servers=two:2\n", 0o644)
	short, long := w.file(t, "short", "fifteen.letters\n", 0o600), w.file(t, "long", "sixteen..letters\n", 0o600)
	for _, test := range []struct {
		args string
		env  []string
		want []string
	}{
		{"--config " + open, nil, []string{"others can read " + open + " (mode -rw-r--r--), which holds a password, zk_digest: chmod 600 it"}},
		{"--config " + closed, nil, nil},
		{"--config " + twice, nil, []string{"zk_servers in " + twice + ", line 4 counts, and the one in line 2 has no effect"}},
		{"--local --api-token-file " + short, nil, []string{"the token in " + short + " has fewer than 16 characters and can be guessed: openssl rand -hex 32 creates a better one"}},
		{"--local --api-token-file " + long, nil, nil},
		{"--mesos http://h:1", []string{"ELASTICJOB_ZKK", "ELASTICJOB_API_TOKEN_FIL", "ELASTICJOB_zk"}, []string{
			"the environment variable ELASTICJOB_API_TOKEN_FIL has no effect; the nearest that has one is ELASTICJOB_API_TOKEN_FILE",
			"the environment variable ELASTICJOB_ZKK has no effect; the nearest that has one is ELASTICJOB_ZK",
			"the environment variable ELASTICJOB_zk has no effect; the nearest that has one is ELASTICJOB_ZK",
		}},
		// Variables of images, of tests, and of tasks and executors, from which a server may be started.
		{"--local", []string{
			"ELASTICJOB_VERSION", "ELASTICJOB_HELP", "ELASTICJOB_HOME", "ELASTICJOB_FAILPOINT", "ELASTICJOB_TEST_MAIN",
			"ZKK",
			"ELASTICJOB_SHARDING_CONTEXT", "ELASTICJOB_JOB_NAME", "ELASTICJOB_TASK_ID", "ELASTICJOB_SHARDING_ITEM",
			"ELASTICJOB_SHARDING_PARAMETER",
			"ELASTICJOB_SHARDING_TOTAL_COUNT", "ELASTICJOB_JOB_PARAMETER", "ELASTICJOB_EXECUTION_SOURCE",
			"ELASTICJOB_FIRE_TIME",
			"ELASTICJOB_EXECUTION_ID", "ELASTICJOB_ATTEMPT", agent.TLSVariable, agent.CAVariable,
			agent.HostnameVariable,
			"ELASTICJOB_PACKAGE_BYTES", "ELASTICJOB_OUTPUT_FILE",
		}, nil},
	} {
		w.env = map[string]string{}
		for _, name := range test.env {
			w.env[name] = "before-commit"
		}
		s, err := w.settings(strings.Fields(test.args)...)
		if err != nil {
			t.Fatalf("%s: %v", test.args, err)
		}
		if diff := cmp.Diff(test.want, s.report.notes); diff != "" {
			t.Errorf("%s %q: (-want +got)\n%s", test.args, test.env, diff)
		}
		if strings.Contains(strings.Join(s.report.notes, ""), "hush") {
			t.Errorf("it shows a secret: %q", s.report.notes)
		}
	}
}
