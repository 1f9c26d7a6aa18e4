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

// originalValue is a value and its source.
type originalValue struct{ value, where string }

// readOriginal reads the file and then the environment variables that have the names of its keys and override it, as
// ElasticJob-Cloud does. It returns all problems in one error.
func readOriginal(path string, env map[string]string, r *report) (map[string]originalValue, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	content, ok, err := textfile.Marked(text)
	if err != nil {
		return nil, fmt.Errorf("--config %s: %w", path, err)
	}
	whole := string(content)
	if !ok {
		whole = properties.Latin1(text) // as Java reads such files
	}
	all, err := properties.Parse(whole)
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
		if before := lines[p.Key]; before > 0 { // the last of several lines counts, as in Java
			r.note("%s in %s, line %d counts, and the one in line %d has no effect", p.Key, path, p.Line, before)
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
		g := values[k.name]
		if !slices.Contains(passwords, k.name) { // passwords may end in a space
			g.value = strings.TrimSpace(g.value)
			values[k.name] = g
		}
		if k.kind != nil && g.value != "" {
			if err := k.kind(g.value); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", g.where, err))
			}
		}
	}
	return values, errors.Join(errs...)
}

// fromOriginal sets the flags that neither the command line nor the environment has set.
func fromOriginal(env map[string]string, c *Config, r *report, set setter) error {
	values, err := readOriginal(c.file, env, r)
	if err != nil {
		return err
	}
	var errs []error
	use := func(flag, value, where string) {
		if value == "" {
			return
		}
		if err := set(flag, value, where); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", where, err))
		}
	}
	for _, k := range originalKeys {
		g := values[k.name]
		if g.value == "" {
			continue
		}
		if k.flag != "" {
			use(k.flag, g.value, g.where)
		}
		if k.note != "" && g.value != "true" {
			r.note("%s %s", g.where, k.note)
		}
	}
	if g := values["reconcile_interval_minutes"]; g.value != "" {
		if n, _ := strconv.Atoi(g.value); n > 0 {
			use("reconcile-interval", g.value+"m", g.where)
		} else {
			r.note("%s has no effect: reconciliation is always on; --reconcile-interval says how often", g.where)
		}
	}
	if g := values["zk_digest"]; g.value != "" && !r.given("zk-digest-file") {
		c.ZooKeeper.Digest = Secret(g.value)
		r.sources["zk-digest-file"] = g.where
	}
	trace(values, r, use)
	addresses(values, c.API.Listen, r, use)
	if !r.given("zk") && !r.given("registry") && !r.given("registry-file") && r.given("mesos") {
		errs = append(errs, fmt.Errorf("--config %s has no zk_servers: add that line, or --zk, or --registry",
			c.file))
	}
	return errors.Join(errs...)
}

// addresses sets --advertise and, unless it is given, --listen from hostname and http_port.
func addresses(values map[string]originalValue, listen string, r *report, use func(flag, value, where string)) {
	host, port := values["hostname"], values["http_port"]
	if host.value == "" && port.value == "" {
		return
	}
	where := cmp.Or(host.where, port.where)
	if host.where != "" && port.where != "" {
		where = host.where + ", and " + port.where
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
	use("advertise", net.JoinHostPort(name, number), where)
	use("listen", net.JoinHostPort(name, number), where)
}

// trace sets --db from the keys event_trace_rdb_…. As in ElasticJob-Cloud, there is no history without both the
// address and the user.
func trace(values map[string]originalValue, r *report, use func(flag, value, where string)) {
	url, user, password := values["event_trace_rdb_url"], values["event_trace_rdb_username"],
		values["event_trace_rdb_password"]
	switch {
	case r.given("db") || r.given("db-file") || url.value == "" && user.value == "" &&
		password.value == "":
		return
	case url.value == "" || user.value == "":
		r.note("%s has no effect: history in SQL needs event_trace_rdb_url and event_trace_rdb_username, or --db",
			cmp.Or(url.where, user.where, password.where))
		return
	}
	found, err := mysql.FromJDBC(url.value, user.value, password.value)
	if err != nil {
		r.note("%s has no effect: %v; or give --db", url.where, err)
		return
	}
	use("db", found, url.where)
}
