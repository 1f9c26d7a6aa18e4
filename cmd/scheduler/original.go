package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/spelling"
)

// originalKey is one key of ElasticJob-Cloud's conf/elasticjob-cloud-scheduler.properties.
type originalKey struct {
	name string
	// flag is the flag that it stands for; others are seen to by take.
	flag string
	// kind checks a value that is not empty.
	kind func(string) error
	// note is what to tell of a value that has no effect.
	note string
}

const noUsers = "has no effect: users are in the registry; scheduler user add makes the first"

// originalKeys are all of them (contract 7); hostname and http_port become
// --listen and --advertise, zk_digest the secret of --zk-digest-file, and event_trace_rdb_… the DSN of --db.
var originalKeys = []originalKey{
	{name: "hostname"},
	{name: "http_port", kind: isPort},
	{name: "user", flag: "mesos-user"},
	{name: "mesos_url", flag: "mesos"},
	{name: "mesos_role", flag: "mesos-role"},
	{name: "zk_servers", flag: "zk"},
	{name: "zk_namespace", flag: "zk-namespace"},
	{name: "zk_digest"},
	{name: "job_state_queue_size", kind: isNumber, note: "has no effect: what waits is kept per job, and no number of jobs is too many"},
	{name: "event_trace_rdb_driver"},
	{name: "event_trace_rdb_url"},
	{name: "event_trace_rdb_username"},
	{name: "event_trace_rdb_password"},
	{name: "reconcile_interval_minutes", kind: isNumber},
	{name: "enable_partition_aware", kind: isBool, note: "has no effect: that is always on"},
	{name: "auth_username", note: noUsers},
	{name: "auth_password", note: noUsers},
}

// passwords are the keys that hold one.
var passwords = []string{"zk_digest", "event_trace_rdb_password"}

func isNumber(text string) error {
	if _, err := strconv.ParseInt(text, 10, 32); err != nil {
		return fmt.Errorf("%q is no whole number", text)
	}
	return nil
}

func isPort(text string) error {
	if n, err := strconv.Atoi(text); err != nil || n < 1 || n > 65535 {
		return fmt.Errorf("%q is no port: want 1 to 65535", text)
	}
	return nil
}

func isBool(text string) error {
	if _, err := strconv.ParseBool(text); err != nil {
		return fmt.Errorf("%q is neither true nor false", text)
	}
	return nil
}

// given is a value and where it was given.
type given struct{ value, where string }

func (s *settings) note(format string, args ...any) {
	s.config.notes = append(s.config.notes, fmt.Sprintf(format, args...))
}

// readOriginal reads the file and, over it, the environment variables that have the keys'
// very names, as the original does. All that is wrong is reported at once.
func (s *settings) readOriginal(env map[string]string) (map[string]given, error) {
	path := s.config.configFile
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	properties, err := parseProperties(text)
	if err != nil {
		return nil, fmt.Errorf("--config %s: %w", path, err)
	}
	var errs []error
	values := map[string]given{}
	lines := map[string]int{}
	for _, p := range properties {
		if !slices.Contains(keyNames(), p.key) {
			errs = append(errs, unknownKey(path, p))
			continue
		}
		if before := lines[p.key]; before > 0 { // of several the last counts, as in Java
			s.note("%s in %s, line %d counts, and the one in line %d has no effect", p.key, path, p.line, before)
		}
		values[p.key], lines[p.key] = given{p.value, fmt.Sprintf("%s in %s, line %d", p.key, path, p.line)}, p.line
	}
	for _, key := range passwords {
		if values[key].value != "" {
			if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
				s.note("others can read %s (mode %s), which holds a password, %s: chmod 600 it", path,
					info.Mode().Perm(), key)
			}
		}
	}
	for _, k := range originalKeys {
		if value := env[k.name]; value != "" {
			values[k.name] = given{value, "the environment variable " + k.name}
		}
		g := values[k.name]
		if !slices.Contains(passwords, k.name) { // they may end in a space
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

func keyNames() []string {
	names := make([]string, len(originalKeys))
	for i, k := range originalKeys {
		names[i] = k.name
	}
	return names
}

func unknownKey(path string, p property) error {
	if near := spelling.Nearest(p.key, keyNames()); near != "" {
		return fmt.Errorf("--config %s, line %d: unknown key %q; the nearest known one is %s", path, p.line, p.key,
			near)
	}
	return fmt.Errorf("--config %s, line %d: unknown key %q, and no known one is like it: remove the line", path,
		p.line, p.key)
}

// fromOriginal sets what neither the command line nor our environment variables have set.
func (s *settings) fromOriginal(env map[string]string) error {
	values, err := s.readOriginal(env)
	if err != nil {
		return err
	}
	var errs []error
	set := func(flag, value, where string) {
		if value == "" || s.sources[flag] != "" {
			return
		}
		if err := s.set(flag, value, where); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", where, err))
		}
	}
	for _, k := range originalKeys {
		g := values[k.name]
		if g.value == "" {
			continue
		}
		if k.flag != "" {
			set(k.flag, g.value, g.where)
		}
		if k.note != "" && g.value != "true" {
			s.note("%s %s", g.where, k.note)
		}
	}
	if g := values["reconcile_interval_minutes"]; g.value != "" {
		if n, _ := strconv.Atoi(g.value); n > 0 {
			set("reconcile-interval", g.value+"m", g.where)
		} else {
			s.note("%s has no effect: reconciliation is always on; --reconcile-interval says how often", g.where)
		}
	}
	if g := values["zk_digest"]; g.value != "" && s.sources["zk-digest-file"] == "" {
		s.config.zkDigest = secret(g.value)
		s.sources["zk-digest-file"] = g.where
	}
	s.trace(values, set)
	s.addresses(values, set)
	if s.sources["zk"] == "" && s.sources["registry"] == "" && s.sources["registry-file"] == "" &&
		s.sources["mesos"] != "" {
		errs = append(errs, fmt.Errorf("--config %s has no zk_servers: add that line, or --zk, or --registry",
			s.config.configFile))
	}
	return errors.Join(errs...)
}

// addresses makes hostname and http_port the address to listen on, unless
// --listen says another, and the one that is advertised.
func (s *settings) addresses(values map[string]given, set func(flag, value, where string)) {
	host, port := values["hostname"], values["http_port"]
	if host.value == "" && port.value == "" {
		return
	}
	where := cmp.Or(host.where, port.where)
	if host.where != "" && port.where != "" {
		where = host.where + ", and " + port.where
	}
	name, number := cmp.Or(host.value, "127.0.0.1"), cmp.Or(port.value, "8899")
	if s.sources["listen"] != "" {
		if _, p, err := net.SplitHostPort(s.config.listen); err == nil && p != "0" {
			number = p
		}
		if host.value == "" {
			return
		}
	}
	set("advertise", net.JoinHostPort(name, number), where)
	set("listen", net.JoinHostPort(name, number), where)
}
