package localcluster

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/cluster/local"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings/commandline"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings/logging"
)

func TestLocalClusterFlagsThatAreRefused(t *testing.T) {
	t.Parallel()
	good := func() clusterFlags {
		return clusterFlags{
			Options: local.Options{
				Listen: "127.0.0.1:5050", DataDir: t.TempDir(), Agents: 2,
				AgentPingTimeout: time.Second, MaxAgentPingTimeouts: 5, AgentReregisterTimeout: time.Minute,
				Heartbeat: time.Second,
			},
			registry: registryFile, log: logging.Options{Level: "info", Format: "auto"},
		}
	}
	f := good()
	if _, err := f.options(slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*clusterFlags){
		"--listen":      func(f *clusterFlags) { f.Listen = "0.0.0.0:5050" },
		"--data-dir":    func(f *clusterFlags) { f.DataDir = "" },
		"--registry":    func(f *clusterFlags) { f.registry = "etcd" },
		"--agents":      func(f *clusterFlags) { f.Agents = -1 },
		"--cpus":        func(f *clusterFlags) { f.CPUs = -1 },
		"--memory":      func(f *clusterFlags) { f.MemoryMB = 1 },
		"--credentials": func(f *clusterFlags) { f.credentials = "/no/such/file" },
		"contradict":    func(f *clusterFlags) { f.credentials, f.NoCredentials = "/no/such/file", true },
		"--ip":          func(f *clusterFlags) { f.Join, f.ip = "http://127.0.0.1:5050", "10.0.0.1" },
		"--master":      func(f *clusterFlags) { f.Join, f.ip = "127.0.0.1:5050", "127.0.0.1" },
		"--tls-key":     func(f *clusterFlags) { f.tlsCert = "/no/such/file" },
		"--tls-cert":    func(f *clusterFlags) { f.tlsCert, f.tlsKey = "/no/such/file", "/no/such/file" },
		"--log-level":   func(f *clusterFlags) { f.log.Level = "loud" },
		"more than 0":   func(f *clusterFlags) { f.AgentPingTimeout = 0 },
	} {
		f := good()
		change(&f)
		if _, err := f.options(slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", want, err)
		}
	}
}

// TestEmptyFlagsAreRefused: if a script's own variable is not set, the empty value must not switch off a setting.
func TestEmptyFlagsAreRefused(t *testing.T) {
	t.Parallel()
	flags := pflag.NewFlagSet("local-cluster", pflag.ContinueOnError)
	new(clusterFlags).addShared(flags)
	if err := flags.Parse([]string{"--credentials", ""}); err != nil {
		t.Fatal(err)
	}
	if err := commandline.RefuseEmpty(flags); err == nil || !strings.Contains(err.Error(), "--credentials is empty") {
		t.Error(err)
	}
	if err := commandline.Explain(flags, flags.Parse([]string{"--cpus", ""})); err == nil ||
		err.Error() != "--cpus is empty: give it a value, or leave it out" {
		t.Errorf("a number: %v", err)
	}
}
