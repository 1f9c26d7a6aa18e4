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

// takeover is the command that says what a server would make of the namespace of ElasticJob-Cloud.
type takeover struct {
	check                bool
	address, digest      string
	servers, inNamespace string
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
disabled, or is FAULTY: then it will not run, and the line says why. The exit status is 1 if anything is FAULTY, 2 for
wrong flags.`,
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
	cmd.Flags().StringVar(&t.digest, "zk-digest-file", "", "a file with user:password for ZooKeeper")
	return cmd
}

// complete checks the flags, and splits the address at the namespace, which may be below a chroot.
func (t *takeover) complete() error {
	hosts, folder, _ := strings.Cut(t.address, "/")
	folder = strings.Trim(folder, "/")
	at := strings.LastIndexByte(folder, '/')
	t.servers, t.inNamespace = hosts, folder[at+1:]
	if at > 0 {
		t.servers += "/" + folder[:at]
	}
	switch {
	case !t.check:
		return errors.New("give --check: the takeover itself begins when a server starts with the namespace")
	case hosts == "" || folder == "":
		return errors.New("give --zk HOSTS/NAMESPACE, such as --zk h1:2181,h2:2181/elasticjob-cloud")
	}
	return nil
}

func (t *takeover) run(ctx context.Context, out io.Writer) error {
	o := zookeeper.Options{Servers: t.servers, Namespace: t.inNamespace}
	if t.digest != "" {
		text, err := os.ReadFile(t.digest)
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
			"ElasticJob-Cloud's properties names it", t.inNamespace)
	}
	r := readNamespace(nodes, time.Now())
	if !slices.ContainsFunc(nodes, func(n zookeeper.Node) bool { return strings.HasPrefix(n.Path, "/scheduler/") }) {
		slices.Sort(candidates)
		for _, who := range candidates {
			fmt.Fprintf(out, "ElasticJob-Cloud runs on %s: stop it before a server starts\n", who)
		}
	}
	return r.write(out)
}

// namespaceReport is what will happen to the apps and jobs of a namespace.
type namespaceReport struct {
	apps, jobs map[string]config.Document
	// marked are the paths of disabled marks.
	marked map[string]bool
	// waiting are the queued runs of a job, lost its lost shards, running its stored tasks.
	waiting             map[string]string
	lost, running       map[string]int
	framework           string
	faulty, off, usable int
	commands            int // jobs that run their app's start script
}

func readNamespace(nodes []zookeeper.Node, now time.Time) *namespaceReport {
	r := &namespaceReport{apps: map[string]config.Document{}, jobs: map[string]config.Document{},
		marked: map[string]bool{}, waiting: map[string]string{}, lost: map[string]int{}, running: map[string]int{}}
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
			r.marked[n.Path] = true
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

// write writes the report; the error says how many documents are faulty, if any is.
func (r *namespaceReport) write(out io.Writer) error {
	text := &strings.Builder{}
	for _, name := range step.SortedKeys(r.apps) {
		r.writeApp(text, name)
	}
	for _, name := range step.SortedKeys(r.jobs) {
		r.writeJob(text, name)
	}
	for _, name := range step.SortedKeys(r.running) {
		if _, known := r.jobs[name]; !known {
			fmt.Fprintf(text, "job %s: is not registered; its %s ended first\n", name, counted(r.running[name], "running task is", "running tasks are"))
		}
	}
	fmt.Fprintf(text, "%s, %s: %d can run, %d disabled, %d FAULTY\n", counted(len(r.apps), "app", "apps"),
		counted(len(r.jobs), "job", "jobs"), r.usable, r.off, r.faulty)
	if r.commands > 0 {
		fmt.Fprintf(text, "%s start script. A Java program that calls JobBootstrap fails here: "+
			"the document \"Write a job\" says what replaces it\n",
			counted(r.commands, "job runs its app's", "jobs run their app's"))
	}
	if r.framework != "" {
		fmt.Fprintf(text, "the framework id %s is taken over; tasks that ElasticJob-Cloud left running are ended "+
			"before new ones start\n", r.framework)
	}
	if _, err := io.WriteString(out, text.String()); err != nil {
		return err
	}
	if r.faulty > 0 {
		return fmt.Errorf("%s FAULTY and will not run: correct them, or register them again after the takeover",
			counted(r.faulty, "app or job is", "apps and jobs are"))
	}
	return nil
}

func (r *namespaceReport) writeApp(out io.Writer, name string) {
	d := r.apps[name]
	switch {
	case d.Err() != nil:
		r.faulty++
		fmt.Fprintf(out, "app %s: FAULTY: %v\n", name, d.Err())
	case r.marked[store.Under(store.PathAppDisabled, name)]:
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
		r.faulty++
		writeNotes(out, fmt.Sprintf("job %s: FAULTY: %v", name, d.Err()), notes)
		return
	}
	job := *d.Job()
	owner, registered := r.apps[job.AppName]
	if !r.marked[store.Under(store.PathJobDisabled, name)] {
		if times := r.waiting[name]; times != "" && job.JobExecutionType != jobs.Daemon {
			notes = append(notes, "its waiting runs are taken over: "+times)
		}
		if n := r.lost[name]; n > 0 {
			notes = append(notes, counted(n, "lost shard is", "lost shards are")+" run again")
		}
	}
	off := ""
	switch {
	case registered && owner.Err() != nil:
		r.faulty++
		writeNotes(out, fmt.Sprintf("job %s: FAULTY: its app %s is", name, job.AppName), notes)
		return
	case r.marked[store.Under(store.PathJobDisabled, name)]:
		off = "stays disabled"
	case !registered:
		off = fmt.Sprintf("does not run, as before: its app %s is not registered", job.AppName)
	case r.marked[store.Under(store.PathAppDisabled, job.AppName)]:
		off = fmt.Sprintf("stays disabled, because its app %s is", job.AppName)
	}
	if off != "" {
		r.off++
	} else {
		r.usable++
		if _, isRequest := job.HTTP(); !isRequest && job.Prop(jobs.PropScript) == "" {
			r.commands++
		}
		if off = "runs as before"; len(notes) > 0 {
			off = "runs with these notes"
		}
	}
	writeNotes(out, "job "+name+": "+off, notes)
}

// writeNotes writes a line, and the notes below it.
func writeNotes(out io.Writer, line string, notes []string) {
	fmt.Fprintln(out, line)
	for _, note := range notes {
		fmt.Fprintln(out, "  -", note)
	}
}

func counted(n int, one, more string) string {
	return fmt.Sprintf("%d %s", n, map[bool]string{true: one, false: more}[n == 1])
}
