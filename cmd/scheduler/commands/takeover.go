package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings/commandline"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/registry/zookeeper"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// takeover has the flags of the command that says what a server will do with a namespace of ElasticJob-Cloud.
type takeover struct {
	check               bool
	address, digestFile string
	// servers and namespace are the parts of the address. servers includes the chroot, if any.
	servers, namespace string
}

func takeoverCommand() *cobra.Command {
	var t takeover
	cmd := &cobra.Command{
		Use:   "takeover",
		Short: "Say what a server will do with the apps and jobs of ElasticJob-Cloud, and change nothing",
		Long: `takeover --check reads the namespace of ElasticJob-Cloud in ZooKeeper, also while ElasticJob-Cloud runs, and
changes nothing:

  scheduler takeover --check --zk h1:2181,h2:2181/elasticjob-cloud

It says for each app and job whether it runs as before, runs with notes about settings that are read differently, is
disabled, or is FAULTY. A FAULTY app or job will not run, and its line says why. The exit status is 1 if any app or job
is FAULTY, 2 for wrong flags.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := t.complete(); err != nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "scheduler: %v\n", err)
				return commandline.ErrUsage
			}
			return t.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	commandline.RefuseBadFlags(cmd)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "scheduler: %q is not a flag: %s --help lists all\n", args[0], cmd.CommandPath())
		return commandline.ErrUsage
	}
	cmd.Flags().BoolVar(&t.check, "check", false, "required: say what would happen, and change nothing")
	cmd.Flags().StringVar(&t.address, "zk", "", "ZooKeeper and the namespace of ElasticJob-Cloud: HOSTS/NAMESPACE")
	cmd.Flags().StringVar(&t.digestFile, "zk-digest-file", "", "a file with user:password for ZooKeeper")
	return cmd
}

// complete checks the flags, and splits the address into servers and namespace: the last part of the path is the
// namespace, and the parts before it are a chroot.
func (t *takeover) complete() error {
	hosts, folder, _ := strings.Cut(t.address, "/")
	folder = strings.Trim(folder, "/")
	slash := strings.LastIndexByte(folder, '/')
	t.servers, t.namespace = hosts, folder[slash+1:]
	if slash > 0 {
		t.servers += "/" + folder[:slash]
	}
	switch {
	case !t.check:
		return errors.New("give --check: the takeover itself begins when a server starts with the namespace")
	case hosts == "" || folder == "":
		return errors.New("give --zk HOSTS/NAMESPACE, such as --zk h1:2181,h2:2181/elasticjob-cloud")
	}
	return nil
}

// run reads the namespace and writes the report to out.
func (t *takeover) run(ctx context.Context, out io.Writer) error {
	o := zookeeper.Options{Servers: t.servers, Namespace: t.namespace}
	if t.digestFile != "" {
		text, err := os.ReadFile(t.digestFile)
		if err != nil {
			return fmt.Errorf("--zk-digest-file: %w", err)
		}
		o.Digest = strings.TrimSpace(string(text))
	}
	nodes, candidates, err := zookeeper.ReadAll(ctx, o)
	if err != nil {
		return err
	}
	if len(nodes) == 0 {
		return fmt.Errorf("the namespace %s does not exist or is empty: check --zk; zk_namespace of "+
			"ElasticJob-Cloud's properties names it", t.namespace)
	}
	r := readNamespace(nodes, time.Now())
	// Only this scheduler writes nodes below /scheduler. Without one, the candidates are those of ElasticJob-Cloud.
	isOurs := func(n zookeeper.Node) bool { return strings.HasPrefix(n.Path, "/scheduler/") }
	takenOver := slices.ContainsFunc(nodes, isOurs)
	if !takenOver {
		slices.Sort(candidates)
		for _, address := range candidates {
			fmt.Fprintf(out, "ElasticJob-Cloud runs on %s: stop it before a server starts\n", address)
		}
	}
	return r.write(out)
}

// namespaceReport says what will happen to the apps and jobs of a namespace. readNamespace sets the fields of the first
// group. write sets the counts of the second group.
type namespaceReport struct {
	apps, jobs map[string]config.Document
	// disabled has the paths of the nodes that disable an app or a job.
	disabled map[string]bool
	// waiting is the number of queued runs of each job, as the node has it.
	waiting map[string]string
	// lost is the number of shards of each job that will run again. running is the number of its stored tasks.
	lost, running map[string]int
	framework     string // the framework's id

	faultyCount, disabledCount, usableCount int
	scriptCount                             int // usable jobs that run their app's start script
}

func readNamespace(nodes []zookeeper.Node, now time.Time) *namespaceReport {
	r := &namespaceReport{apps: map[string]config.Document{}, jobs: map[string]config.Document{},
		disabled: map[string]bool{}, waiting: map[string]string{}, lost: map[string]int{}, running: map[string]int{}}
	opt := &step.Options{Documents: step.YAMLDocuments, Zone: time.Local}
	for _, n := range nodes {
		dir, name := path.Dir(n.Path), path.Base(n.Path)
		read := func() config.Document {
			return config.ReadDocument(opt, now, registry.Entry{Path: n.Path, Value: n.Value})
		}
		switch {
		case dir == store.PathApps:
			r.apps[name] = read()
		case dir == store.PathJobs:
			r.jobs[name] = read()
		case dir == store.PathAppDisabled || dir == store.PathJobDisabled:
			r.disabled[n.Path] = true
		case dir == store.PathReady:
			r.waiting[name] = string(n.Value)
		case n.Path == store.PathFramework:
			r.framework = string(n.Value)
		default:
			switch job := path.Base(dir); path.Dir(dir) {
			case store.PathFailover:
				r.lost[job]++
			case store.PathRunning:
				r.running[job]++
			}
		}
	}
	return r
}

// write writes the report to out. If any app or job is faulty, it returns an error with their number.
func (r *namespaceReport) write(out io.Writer) error {
	text := &strings.Builder{}
	for _, name := range step.SortedKeys(r.apps) {
		r.writeApp(text, name)
	}
	for _, name := range step.SortedKeys(r.jobs) {
		r.writeJob(text, name)
	}
	for _, name := range step.SortedKeys(r.running) {
		if _, registered := r.jobs[name]; !registered {
			fmt.Fprintf(text, "job %s: is not registered; its %s ended first\n", name,
				counted(r.running[name], "running task is", "running tasks are"))
		}
	}
	fmt.Fprintf(text, "%s, %s: %d can run, %d disabled, %d FAULTY\n", counted(len(r.apps), "app", "apps"),
		counted(len(r.jobs), "job", "jobs"), r.usableCount, r.disabledCount, r.faultyCount)
	if r.scriptCount > 0 {
		fmt.Fprintf(text, "%s start script. A Java program that calls JobBootstrap fails here: "+
			"the document \"Write a job\" says what replaces it\n",
			counted(r.scriptCount, "job runs its app's", "jobs run their app's"))
	}
	if r.framework != "" {
		fmt.Fprintf(text, "the framework id %s is taken over; tasks that ElasticJob-Cloud left running are ended "+
			"before new ones start\n", r.framework)
	}
	if _, err := io.WriteString(out, text.String()); err != nil {
		return err
	}
	if r.faultyCount > 0 {
		return fmt.Errorf("%s FAULTY and will not run: correct them, or register them again after the takeover",
			counted(r.faultyCount, "app or job is", "apps and jobs are"))
	}
	return nil
}

func (r *namespaceReport) writeApp(out io.Writer, name string) {
	d := r.apps[name]
	switch {
	case d.Err() != nil:
		r.faultyCount++
		fmt.Fprintf(out, "app %s: FAULTY: %v\n", name, d.Err())
	case r.disabled[store.Under(store.PathAppDisabled, name)]:
		writeNotes(out, "app "+name+": stays disabled, with all its jobs", d.Notes())
	case len(d.Notes()) == 0:
		fmt.Fprintf(out, "app %s: runs as before\n", name)
	default:
		writeNotes(out, "app "+name+": runs with these notes", d.Notes())
	}
}

func (r *namespaceReport) writeJob(out io.Writer, name string) {
	d := r.jobs[name]
	notes := slices.Clone(d.Notes())
	if n := r.running[name]; n > 0 {
		notes = append(notes, "its "+counted(n, "running task is", "running tasks are")+" ended first")
	}
	if d.Err() != nil {
		r.faultyCount++
		writeNotes(out, fmt.Sprintf("job %s: FAULTY: %v", name, d.Err()), notes)
		return
	}
	job := *d.Job()
	app, registered := r.apps[job.AppName]
	if !r.disabled[store.Under(store.PathJobDisabled, name)] {
		if times := r.waiting[name]; times != "" && job.JobExecutionType != jobs.Daemon {
			notes = append(notes, "its waiting runs are taken over: "+times)
		}
		if n := r.lost[name]; n > 0 {
			notes = append(notes, counted(n, "lost shard is", "lost shards are")+" run again")
		}
	}
	state := ""
	switch {
	case registered && app.Err() != nil:
		r.faultyCount++
		writeNotes(out, fmt.Sprintf("job %s: FAULTY: its app %s is", name, job.AppName), notes)
		return
	case r.disabled[store.Under(store.PathJobDisabled, name)]:
		state = "stays disabled"
	case !registered:
		state = fmt.Sprintf("does not run, as before: its app %s is not registered", job.AppName)
	case r.disabled[store.Under(store.PathAppDisabled, job.AppName)]:
		state = fmt.Sprintf("stays disabled, because its app %s is", job.AppName)
	}
	if state != "" {
		r.disabledCount++
	} else {
		r.usableCount++
		if _, isRequest := job.HTTP(); !isRequest && job.Prop(jobs.PropScript) == "" {
			r.scriptCount++
		}
		if state = "runs as before"; len(notes) > 0 {
			state = "runs with these notes"
		}
	}
	writeNotes(out, "job "+name+": "+state, notes)
}

// writeNotes writes the line, and the notes indented below it.
func writeNotes(out io.Writer, line string, notes []string) {
	fmt.Fprintln(out, line)
	for _, note := range notes {
		fmt.Fprintln(out, "  -", note)
	}
}

// counted returns the number with the singular or the plural of a noun.
func counted(n int, singular, plural string) string {
	if n == 1 {
		return "1 " + singular
	}
	return fmt.Sprintf("%d %s", n, plural)
}
