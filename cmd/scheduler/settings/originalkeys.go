package settings

import (
	"fmt"
	"strconv"

	"github.com/elasticjob-go/elasticjob/internal/properties"
	"github.com/elasticjob-go/elasticjob/internal/spelling"
)

// originalKey is a key of ElasticJob-Cloud's file conf/elasticjob-cloud-scheduler.properties.
type originalKey struct {
	name string
	// flag is the flag that the key sets, or "".
	flag string
	// check returns an error if a value is not valid. It is called for values that are not empty.
	check func(string) error
	// note is the warning that the value has no effect. A value of true causes no warning.
	note string
}

const noUsers = "has no effect: users are in the registry; scheduler user add creates the first"

// originalKeys are all keys of the file (contract 7). fromOriginal handles those without a flag: hostname and
// http_port set --listen and --advertise, zk_digest is the secret of --zk-digest-file, and event_trace_rdb_… is the
// DSN of --db.
var originalKeys = []originalKey{
	{name: "hostname"},
	{name: "http_port", check: checkPort},
	{name: "user", flag: "mesos-user"},
	{name: "mesos_url", flag: "mesos"},
	{name: "mesos_role", flag: "mesos-role"},
	{name: "zk_servers", flag: "zk"},
	{name: "zk_namespace", flag: "zk-namespace"},
	{name: "zk_digest"},
	{name: "job_state_queue_size", check: checkNumber, note: "has no effect: waiting executions are kept per job, and the number of jobs is not limited"},
	{name: "event_trace_rdb_driver"},
	{name: "event_trace_rdb_url"},
	{name: "event_trace_rdb_username"},
	{name: "event_trace_rdb_password"},
	{name: "reconcile_interval_minutes", check: checkNumber},
	{name: "enable_partition_aware", check: checkBool, note: "has no effect: that is always on"},
	{name: "auth_username", note: noUsers},
	{name: "auth_password", note: noUsers},
}

// passwords are the keys whose values are passwords.
var passwords = []string{"zk_digest", "event_trace_rdb_password"}

func checkNumber(text string) error {
	if _, err := strconv.ParseInt(text, 10, 32); err != nil {
		return fmt.Errorf("%q is not a whole number", text)
	}
	return nil
}

func checkBool(text string) error {
	if _, err := strconv.ParseBool(text); err != nil {
		return fmt.Errorf("%q is neither true nor false", text)
	}
	return nil
}

func keyNames() []string {
	names := make([]string, len(originalKeys))
	for i, k := range originalKeys {
		names[i] = k.name
	}
	return names
}

// unknownKey returns the error for a key that ElasticJob-Cloud does not have.
func unknownKey(path string, p properties.Property) error {
	if near := spelling.Nearest(p.Key, keyNames()); near != "" {
		return fmt.Errorf("--config %s, line %d: unknown key %q; the nearest known one is %s", path, p.Line, p.Key,
			near)
	}
	return fmt.Errorf("--config %s, line %d: unknown key %q, and no known one is like it: remove the line", path,
		p.Line, p.Key)
}
