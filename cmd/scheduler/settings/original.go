package settings

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/mysql"
	"github.com/elasticjob-go/elasticjob/internal/properties"
	"github.com/elasticjob-go/elasticjob/internal/textfile"
)

// originalValue is a value of ElasticJob-Cloud's file, and its source.
type originalValue struct{ value, source string }

// readOriginal reads the values of ElasticJob-Cloud's file. As in ElasticJob-Cloud, an environment variable with the
// name of a key overrides the value in the file. It returns all problems in one error.
func readOriginal(path string, env map[string]string, r *report) (map[string]originalValue, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	decoded, ok, err := textfile.Marked(text)
	if err != nil {
		return nil, fmt.Errorf("--config %s: %w", path, err)
	}
	content := string(decoded)
	if !ok {
		content = properties.Latin1(text) // Java reads such files in this encoding
	}
	all, err := properties.Parse(content)
	if err != nil {
		return nil, fmt.Errorf("--config %s: %w", path, err)
	}
	var errs []error
	values := map[string]originalValue{}
	lines := map[string]int{}
	for _, p := range all {
		if !slices.Contains(keyNames(), p.Key) {
			errs = append(errs, unknownKey(path, p))
			continue
		}
		if earlier := lines[p.Key]; earlier > 0 { // the last of several lines counts, as in Java
			r.note("%s in %s, line %d counts, and the one in line %d has no effect", p.Key, path, p.Line, earlier)
		}
		values[p.Key], lines[p.Key] = originalValue{p.Value, fmt.Sprintf("%s in %s, line %d", p.Key, path, p.Line)},
			p.Line
	}
	for _, key := range passwords {
		if values[key].value != "" {
			if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
				r.note("others can read %s (mode %s), which holds a password, %s: chmod 600 it", path,
					info.Mode().Perm(), key)
			}
		}
	}
	for _, k := range originalKeys {
		if value := env[k.name]; value != "" {
			values[k.name] = originalValue{value, "the environment variable " + k.name}
		}
		v := values[k.name]
		if !slices.Contains(passwords, k.name) { // a password may begin or end with a space
			v.value = strings.TrimSpace(v.value)
			values[k.name] = v
		}
		if k.check != nil && v.value != "" {
			if err := k.check(v.value); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", v.source, err))
			}
		}
	}
	return values, errors.Join(errs...)
}

// fromOriginal sets flags from ElasticJob-Cloud's file, unless the command line or the environment has set them.
func fromOriginal(env map[string]string, c *Config, r *report, set setter) error {
	values, err := readOriginal(c.file, env, r)
	if err != nil {
		return err
	}
	var errs []error
	use := func(flag, value, source string) {
		if value == "" {
			return
		}
		if err := set(flag, value, source); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", source, err))
		}
	}
	for _, k := range originalKeys {
		v := values[k.name]
		if v.value == "" {
			continue
		}
		if k.flag != "" {
			use(k.flag, v.value, v.source)
		}
		if k.note != "" && v.value != "true" {
			r.note("%s %s", v.source, k.note)
		}
	}
	if v := values["reconcile_interval_minutes"]; v.value != "" {
		if n, _ := strconv.Atoi(v.value); n > 0 {
			use("reconcile-interval", v.value+"m", v.source)
		} else {
			r.note("%s has no effect: reconciliation is always on; --reconcile-interval says how often", v.source)
		}
	}
	if v := values["zk_digest"]; v.value != "" && !r.given("zk-digest-file") {
		c.ZooKeeper.Digest = Secret(v.value)
		r.sources["zk-digest-file"] = v.source
	}
	useTrace(values, r, use)
	useAddresses(values, c.API.Listen, r, use)
	if !r.given("zk") && !r.given("registry") && !r.given("registry-file") && r.given("mesos") {
		errs = append(errs, fmt.Errorf("--config %s has no zk_servers: add that line, or --zk, or --registry",
			c.file))
	}
	return errors.Join(errs...)
}

// useAddresses sets --listen and --advertise from hostname and http_port. If --listen is given, its port counts
// instead of http_port.
func useAddresses(values map[string]originalValue, listen string, r *report, use func(flag, value, source string)) {
	host, port := values["hostname"], values["http_port"]
	if host.value == "" && port.value == "" {
		return
	}
	source := cmp.Or(host.source, port.source)
	if host.source != "" && port.source != "" {
		source = host.source + ", and " + port.source
	}
	name, number := cmp.Or(host.value, "127.0.0.1"), cmp.Or(port.value, "8899")
	if r.given("listen") {
		if _, p, err := net.SplitHostPort(listen); err == nil && p != "0" {
			number = p
		}
		if host.value == "" {
			return
		}
	}
	use("advertise", net.JoinHostPort(name, number), source)
	use("listen", net.JoinHostPort(name, number), source)
}

// useTrace sets --db from the keys event_trace_rdb_…. As in ElasticJob-Cloud, there is no history unless both the
// address and the user are given.
func useTrace(values map[string]originalValue, r *report, use func(flag, value, source string)) {
	url, user, password := values["event_trace_rdb_url"], values["event_trace_rdb_username"],
		values["event_trace_rdb_password"]
	switch {
	case r.given("db") || r.given("db-file") || url.value == "" && user.value == "" &&
		password.value == "":
		return
	case url.value == "" || user.value == "":
		r.note("%s has no effect: history in SQL needs event_trace_rdb_url and event_trace_rdb_username, or --db",
			cmp.Or(url.source, user.source, password.source))
		return
	}
	dsn, err := mysql.FromJDBC(url.value, user.value, password.value)
	if err != nil {
		r.note("%s has no effect: %v; or give --db", url.source, err)
		return
	}
	use("db", dsn, url.source)
}
