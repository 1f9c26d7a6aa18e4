package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/executor"
)

// config is what the command line and the environment say.
type config struct {
	local           bool
	mesos           []string
	listen          string
	advertise       string
	dataDir         string
	localCPUs       float64
	localMemory     float64
	giveUpExecutors bool
	executorDir     string
	executorIdle    time.Duration
	killGrace       time.Duration
	executorLimits  []string
	timeZone        string
	role, principal string
	spread          bool
	logLevel        string
	logFormat       string
}

// errUsage marks errors that cobra has told already.
var errUsage = errors.New("usage")

const envPrefix = "ELASTICJOB_"

// What one machine may be told to have; far more than any has, and exact in thousandths.
const (
	mostCPUs   = 1_000_000.0
	mostMemory = 1_000_000_000.0
)

func command() *cobra.Command {
	var c config
	cmd := &cobra.Command{
		Use:   "scheduler",
		Short: "Run sharded batch jobs on their cron, on a Mesos cluster or on this machine",
		Long: `scheduler publishes apps, registers jobs on them, and runs the jobs' shards.

On this machine, with nothing installed:

  scheduler --local

then see http://127.0.0.1:8899/ for what to do next. Every flag can also be set in
the environment: --data-dir as ` + envPrefix + `DATA_DIR, and so on; the flag wins.`,
		Version:       version,
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := fromEnvironment(cmd.Flags(), os.LookupEnv); err != nil {
				return err
			}
			return c.check()
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), c, os.Stdout) },
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		fmt.Fprintf(os.Stderr, "scheduler: %v\nscheduler --help lists all flags.\n", err)
		return errUsage
	})
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&c.local, "local", false, "run jobs on this machine: brings a cluster of its own, needs nothing else")
	f.StringSliceVar(&c.mesos, "mesos", nil, "run jobs on this Mesos cluster: http://host:port of its masters, separated by commas")
	f.StringVar(&c.listen, "listen", "127.0.0.1:8899", "address of the REST API; only addresses of this machine are allowed")
	f.StringVar(&c.advertise, "advertise", "", "host:port at which agents and others find this server (default: the listen address)")
	f.StringVar(&c.dataDir, "data-dir", defaultDataDir(), "folder of all that is kept: configuration, state, and with --local the tasks' output")
	f.Float64Var(&c.localCPUs, "local-cpus", float64(runtime.NumCPU()), "with --local: CPUs on offer")
	f.Float64Var(&c.localMemory, "local-memory", defaultMemory(), "with --local: memory on offer, in MB")
	f.BoolVar(&c.giveUpExecutors, "give-up-executors", false, "with --local: end the executors that an earlier run left behind, instead of finding them again")
	f.StringVar(&c.executorDir, "executor-dir", "", "folder of the executor binaries, executor or executor-<os>-<arch> (default: the folder of this program)")
	f.DurationVar(&c.executorIdle, "executor-idle", 30*time.Second, "how long an executor is kept with nothing to do; 0 ends it after each run")
	f.DurationVar(&c.killGrace, "kill-grace", 5*time.Second, "time between SIGTERM and SIGKILL for a task that is to end")
	f.StringSliceVar(&c.executorLimits, "executor-limit", nil, "a bound of executors that start from now on, as name=value, repeated or separated by commas:\n"+
		"package-download 4GiB, package-bytes 16GiB, package-files 200000, package-ratio 250, package-path 1024,\n"+
		"package-depth 64, package-stall 1m, package-fetch-time 1h, package-unpack-time 15m, package-tries 4,\n"+
		"output-file 32MiB, output-tasks 1000, output-bytes 1GiB are the defaults")
	f.StringVar(&c.timeZone, "time-zone", "Local", "zone of crons whose job names none: an IANA name, or Local for this machine's")
	f.BoolVar(&c.spread, "spread", false, "place shards on the emptiest agents instead of filling the fullest")
	f.StringVar(&c.role, "mesos-role", "", "with --mesos: the framework's role")
	f.StringVar(&c.principal, "mesos-principal", "", "with --mesos: the framework's principal")
	f.StringVar(&c.logLevel, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&c.logFormat, "log-format", "auto", "text, json, or auto: text on a terminal, json otherwise")
	return cmd
}

// fromEnvironment sets the flags that the command line left out.
func fromEnvironment(flags *pflag.FlagSet, lookup func(string) (string, bool)) error {
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		name := envPrefix + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value, ok := lookup(name)
		if !ok || f.Changed {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			errs = append(errs, fmt.Errorf("%s=%q: %w", name, value, err))
		}
	})
	return errors.Join(errs...)
}

// check refuses what contradicts, all of it at once.
func (c *config) check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch {
	case c.local && len(c.mesos) > 0:
		bad("--local and --mesos contradict each other: --local brings a cluster of its own")
	case !c.local && len(c.mesos) == 0:
		bad("say where jobs are to run: --local for this machine, or --mesos http://host:5050 for a cluster")
	}
	// NaN is in no range.
	if c.local && !(c.localCPUs >= 0.01 && c.localCPUs <= mostCPUs) {
		bad("--local-cpus %v: want 0.01 to %v", c.localCPUs, mostCPUs)
	}
	if c.local && !(c.localMemory >= 32 && c.localMemory <= mostMemory) {
		bad("--local-memory %v: want 32 to %v (MB)", c.localMemory, mostMemory)
	}
	if c.dataDir == "" {
		bad("--data-dir: no home folder is known here; name a folder")
	}
	if c.executorIdle < 0 || c.killGrace < 0 {
		bad("--executor-idle and --kill-grace can't be negative")
	}
	if err := new(executor.Config).Arguments(c.executorArguments()); err != nil {
		bad("--executor-limit: %w", err)
	}
	if _, err := time.LoadLocation(c.timeZone); err != nil {
		bad("--time-zone %q: no such zone; use an IANA name such as Europe/Berlin, or Local", c.timeZone)
	}
	if _, err := parseLevel(c.logLevel); err != nil {
		bad("--log-level %q: want debug, info, warn or error", c.logLevel)
	}
	switch c.logFormat {
	case "auto", "text", "json":
	default:
		bad("--log-format %q: want text, json or auto", c.logFormat)
	}
	return errors.Join(errs...)
}

// executorArguments are the limits as the executor takes them.
func (c *config) executorArguments() []string {
	args := make([]string, len(c.executorLimits))
	for i, limit := range c.executorLimits {
		args[i] = "--" + limit
	}
	return args
}

func defaultDataDir() string {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "elasticjob")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "share", "elasticjob")
}

// defaultMemory is three quarters of the machine's, in whole MB.
func defaultMemory() float64 {
	const fallback = 2048
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return fallback
	}
	var kb float64
	if _, err := fmt.Sscanf(string(text), "MemTotal: %f kB", &kb); err != nil || kb <= 0 {
		return fallback
	}
	return float64(int(kb / 1024 * 3 / 4))
}
