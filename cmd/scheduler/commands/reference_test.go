package commands

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
	"github.com/elasticjob-go/elasticjob/executor"
	"github.com/elasticjob-go/elasticjob/test/reference"
)

const configuration = "../../../docs/configuration.md"

// setting is what the reference says about a flag beyond its definition.
type setting struct {
	takes   string   // the accepted values
	refused []string // examples of invalid values
	counts  string   // when a change takes effect, if not at the server's next start
}

const (
	aFile     = "a file's path"
	newStarts = "at the next start, for executors that start from then on"
	newPods   = "at the next start, for pods that are made from then on"
)

// takes are all flags of the server, except those that accept any text and those that are on or off.
var takes = map[string]setting{
	"mesos":                    {takes: "`zk://host:port,…/path`, `http(s)://host:port,…`", refused: []string{"h:5050", "ftp://h"}},
	"mesos-credentials-file":   {takes: aFile, refused: []string{"/none"}},
	"mesos-ca-file":            {takes: aFile, refused: []string{"/none"}},
	"mesos-cert-file":          {takes: aFile, counts: "the file at once, for new connections"},
	"mesos-key-file":           {takes: aFile, counts: "the file at once, for new connections"},
	"mesos-user":               {takes: "a user of the agents", counts: newStarts},
	"mesos-role":               {takes: "a role of the cluster"},
	"mesos-principal":          {takes: "a principal of the cluster"},
	"kubeconfig":               {takes: aFile, refused: []string{"/none"}},
	"kubernetes-namespace":     {takes: "a namespace", refused: []string{"Jobs", "a.b"}},
	"kubernetes-assigned-user": {counts: newPods},
	"kubernetes-image":         {takes: "an image", refused: []string{"a b", "https://registry.example/task:1", "Registry/Task"}, counts: newPods},
	"kubernetes-pod-template":  {takes: aFile, refused: []string{"/none"}, counts: newPods},
	"keep-pods":                {takes: "`finished=N,failed=N,pods=N,for=DURATION`", refused: []string{"finished=-1", "for=721h", "x=1"}},
	"zk":                       {takes: "`host:port,…[/chroot]`", refused: []string{"h:0", "h:x"}},
	"zk-namespace":             {takes: "a path", refused: []string{"a//b"}},
	"zk-session-timeout":       {takes: "1s to 5m", refused: []string{"999ms", "301s"}},
	"zk-digest-file":           {takes: aFile, refused: []string{"/none"}},
	"registry":                 {takes: "an address", refused: []string{"x", "mysql://h/db"}},
	"registry-file":            {takes: aFile, refused: []string{"/none"}},
	"registry-lease":           {takes: "2s to 5m", refused: []string{"1s", "301s"}},
	"db":                       {takes: "a DSN", refused: []string{"x"}},
	"db-file":                  {takes: aFile, refused: []string{"/none"}},
	"history-days":             {takes: "1 to 36,500", refused: []string{"0", "36501"}},
	"history-rows":             {takes: "1,000 to 10,000,000,000", refused: []string{"999", "10000000001"}},
	"history-outbox-mb":        {takes: "1 to 1,048,576", refused: []string{"0", "1048577"}},
	"listen":                   {takes: "`host:port`", refused: []string{"h", "127.0.0.1:x"}},
	"advertise":                {takes: "`host:port`, not all addresses", refused: []string{"0.0.0.0:80", "h"}},
	"lease-listen":             {takes: "`host:port`", refused: []string{"h", "127.0.0.1:x"}},
	"lease-urls":               {takes: "`http://host:port`, separated by commas", refused: []string{"h:1", "http://h/x"}},
	"api-token-file":           {takes: aFile, refused: []string{"/none"}},
	"login-lifetime":           {takes: "1m to 168h", refused: []string{"59s", "169h"}},
	"tls-cert":                 {takes: aFile, refused: []string{"/none"}, counts: "the file within a second"},
	"tls-key":                  {takes: aFile, refused: []string{"/none"}, counts: "the file within a second"},
	"tls-ca":                   {takes: aFile, refused: []string{"/none"}, counts: "the file within a second"},
	"ca-file":                  {takes: aFile, refused: []string{"/none"}, counts: newStarts},
	"data-dir":                 {takes: "a folder's path", refused: []string{"/proc/none"}},
	"local-cpus":               {takes: "0.01 to 1,000,000", refused: []string{"0.001", "NaN"}},
	"local-memory":             {takes: "32 to 1,000,000,000", refused: []string{"31"}},
	"executor-dir":             {takes: "a folder's path"},
	"executor-idle":            {takes: "0s or more", refused: []string{"-1s"}},
	"kill-grace":               {takes: "0s to 24h", refused: []string{"-1s", "25h"}},
	"notify-file":              {takes: aFile, refused: []string{"/none"}},
	"unreachable-after":        {takes: "15s to 168h", refused: []string{"14s", "169h"}},
	"executor-limit":           {takes: "`name=value`, [below](#limits-of-executors)", refused: []string{"x=1", "processes=0"}, counts: newStarts},
	"run-as":                   {takes: "a name, a uid or `UID:GID`", refused: []string{"a b"}, counts: newStarts},
	"hide-data":                {counts: newStarts},
	"reconcile-interval":       {takes: "1m to 24h", refused: []string{"59s", "25h"}},
	"time-zone":                {takes: "an IANA name, `Local`", refused: []string{"Mars/Base"}},
	"documents-limit":          {takes: "1MiB to 1024GiB", refused: []string{"0", "1023KiB", "1025GiB", "much"}},
	"documents-per-app-limit":  {takes: "1MiB to 1024GiB", refused: []string{"0", "1023KiB", "1025GiB"}},
	"job-metrics":              {takes: "0 to 100,000", refused: []string{"-1", "100001"}},
	"log-level":                {takes: "`debug`, `info`, `warn`, `error`", refused: []string{"loud"}},
	"log-format":               {takes: "`auto`, `text`, `json`", refused: []string{"xml"}},
	"config":                   {takes: aFile, refused: []string{"/none"}},
	"oidc-issuer":              {takes: "an https address", refused: []string{"ftp://h"}},
	"oidc-client-id":           {takes: "a text"},
	"oidc-client-secret-file":  {takes: aFile, refused: []string{"/none"}},
	"oidc-redirect-url":        {takes: "an https address", refused: []string{"ftp://h"}},
	"oidc-scopes":              {takes: "scopes"},
	"oidc-name-claim":          {takes: "a claim"},
	"oidc-roles-claim":         {takes: "a claim, or a path of claims"},
	"oidc-role":                {takes: "`VALUE=ROLE`, `VALUE=ROLE:APP,…`", refused: []string{"x", "x=king"}},
}

// TestReferenceOfFlags: docs/configuration.md lists all flags of the server as they are defined.
func TestReferenceOfFlags(t *testing.T) {
	t.Parallel()
	flags := New().Flags()
	ours := settings.Variables(flags)
	var text strings.Builder
	row := func(f *pflag.Flag) {
		about := takes[f.Name]
		if about.takes == "" {
			if f.Value.Type() != "bool" {
				t.Errorf("--%s: takes lacks the accepted values", f.Name)
			}
			about.takes = "on or off"
		}
		if about.counts == "" {
			about.counts = "at the next start"
		}
		fmt.Fprintf(&text, "| `--%s` | `%s` | %s | %s | %s | %s |\n", f.Name, ours[f.Name], defaultOf(f), about.takes,
			about.counts, reference.Cell(usageOf(f)))
	}
	for i, g := range settings.New(pflag.NewFlagSet("", pflag.ContinueOnError)).Groups() {
		if i > 0 {
			text.WriteString("\n")
		}
		fmt.Fprintf(&text, "### %s\n\n| flag | environment | default | values | a change counts | |\n|---|---|---|---|---|---|\n",
			g.Name())
		g.VisitAll(row)
	}
	for name := range takes {
		if flags.Lookup(name) == nil {
			t.Errorf("there is no flag --%s", name)
		}
	}
	reference.Check(t, configuration, "flags of scheduler", text.String())
}

// usageOf returns a flag's help without its default, which has a column, and without the limits, which have a table.
func usageOf(f *pflag.Flag) string {
	usage, _, _ := strings.Cut(f.Usage, ":\npackage-")
	return regexp.MustCompile(` \(default:? [^)]*\)$`).ReplaceAllString(usage, "")
}

// defaultOf returns a flag's default, or a description of it if it depends on the machine.
func defaultOf(f *pflag.Flag) string {
	if said := regexp.MustCompile(`\(default:? ([^)]*)\)$`).FindStringSubmatch(f.Usage); said != nil {
		return reference.Cell(said[1])
	}
	switch {
	case f.Name == "data-dir" && f.DefValue != "":
		return "`elasticjob` in `$XDG_DATA_HOME`, or in `~/.local/share`; " +
			"of root `/var/lib/elasticjob`, unless the one at home is there or this one is another user's"
	case f.Name == "local-cpus":
		return "this machine's, or its control group's if less"
	case f.Name == "local-memory":
		return "three quarters of this machine's, or of its control group's if less"
	case f.Value.Type() == "bool":
		return map[string]string{"true": "on", "false": "off"}[f.DefValue]
	case f.DefValue == "", f.DefValue == "[]":
		return ""
	}
	return "`" + strings.Trim(f.DefValue, "[]") + "`"
}

// TestReferenceOfValues: the server rejects all values that docs/configuration.md calls invalid.
func TestReferenceOfValues(t *testing.T) {
	t.Parallel()
	for flag, about := range takes {
		for _, value := range about.refused {
			args := []string{"--" + flag + "=" + value}
			switch {
			case flag == "mesos":
			case strings.HasPrefix(flag, "kube"), flag == "keep-pods":
				args = append([]string{"--kubernetes", "--kubeconfig=../settings/testdata/kubeconfig"}, args...)
			case strings.HasPrefix(flag, "registry"):
				args = append(args, "--mesos=http://127.0.0.1:5050")
				if flag == "registry-lease" {
					args = append(args, "--registry=mysql://u@127.0.0.1/db")
				}
			case strings.HasPrefix(flag, "zk"), strings.HasPrefix(flag, "mesos"):
				args = append(args, "--mesos=http://127.0.0.1:5050")
				if flag != "zk" && strings.HasPrefix(flag, "zk") {
					args = append(args, "--zk=127.0.0.1:2181")
				}
			default:
				args = append(args, "--local")
			}
			flags := pflag.NewFlagSet("scheduler", pflag.ContinueOnError)
			s := settings.New(flags)
			err := flags.Parse(args)
			if err == nil {
				err = s.Complete(nil, 1000)
			}
			if err == nil || !strings.Contains(err.Error(), flag) {
				t.Errorf("%v: %v", args, err)
			}
		}
	}
}

// TestReferenceOfCommands: docs/configuration.md lists the flags of the other commands.
func TestReferenceOfCommands(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	var list func(cmd *cobra.Command)
	list = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			list(sub)
		}
		if !cmd.Runnable() || !cmd.HasParent() || cmd.HasSubCommands() || cmd.Name() == "help" ||
			cmd.Name() == "completion" {
			return
		}
		var rows strings.Builder
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if server := New().Flags().Lookup(f.Name); f.Name != "help" &&
				(server == nil || server.Usage != f.Usage) {
				fmt.Fprintf(&rows, "| `--%s` | %s | %s |\n", f.Name, defaultOf(f), reference.Cell(usageOf(f)))
			}
		})
		if rows.Len() > 0 {
			fmt.Fprintf(&text, "**`%s`**: %s.\n\n| flag | default | |\n|---|---|---|\n%s\n",
				cmd.CommandPath()+strings.TrimPrefix(cmd.Use, cmd.Name()), cmd.Short, rows.String())
		}
	}
	list(New())
	reference.Check(t, configuration, "flags of other commands", "\n"+text.String())
}

// TestReferenceOfLimits: docs/configuration.md lists the limits of --executor-limit with the defaults in its help.
func TestReferenceOfLimits(t *testing.T) {
	t.Parallel()
	_, listed, _ := strings.Cut(fmt.Sprint(new(executor.Config).Set("none=1")), "known are ")
	defaults := map[string]string{}
	for _, found := range regexp.MustCompile(`([a-z-]+) (\w+)[, ]`).FindAllStringSubmatch(
		New().Flags().Lookup("executor-limit").Usage, -1) {
		defaults[found[1]] = found[2]
	}
	var text strings.Builder
	text.WriteString("| limit | in an agent's environment | default | values |\n|---|---|---|---|\n")
	for name := range strings.SplitSeq(listed, ", ") {
		if name == "run-as" {
			continue // run-as has a separate flag
		}
		fits := func(value string) bool { return new(executor.Config).Set(name+"="+value) == nil }
		values := "a whole number from 1 on"
		switch {
		case name == "package-ratio":
			values = "bytes unpacked for each byte, from 1 on"
		case fits("1s"):
			values = "a duration, `90s` or `1h30m`"
		case fits("1KiB"):
			values = "a size, `1048576` or `64MiB`"
		case fits("0"):
			values = "a whole number, 0 or more"
		}
		if !fits(defaults[name]) {
			t.Errorf("the default of %s in --executor-limit's help is %q", name, defaults[name])
		}
		fmt.Fprintf(&text, "| `%s` | `%s%s` | `%s` | %s |\n", name, settings.EnvPrefix,
			strings.ToUpper(strings.ReplaceAll(name, "-", "_")), defaults[name], values)
	}
	reference.Check(t, configuration, "limits of executors", text.String())
}
