package tasks

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/elasticjob-go/elasticjob/executor/launch"
	"github.com/elasticjob-go/elasticjob/executor/output"
	"github.com/elasticjob-go/elasticjob/executor/pack"
	"github.com/elasticjob-go/elasticjob/executor/pipe"
	"github.com/elasticjob-go/elasticjob/executor/supervisor"
	"github.com/elasticjob-go/elasticjob/executor/workdir"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// startProcess starts a process of the task in a working folder that shows the package, if there is one. It calls
// hear with each message that the process writes to its pipe, and closed when the process has closed its pipe,
// mostly because it has ended; both in another goroutine, which ends before wait returns. The caller must call
// wait.
func (t *task) startProcess(spec wire.Task, hear func(*process, pipe.Message), closed func(*process)) (_ *process,
	err error) {
	// The supervisor starts processes one after the other, so more of them in preparation would not be faster. A
	// process gets its folders only after it has got a slot: so many short tasks need few folders.
	t.host.starting <- struct{}{}
	defer func() { <-t.host.starting }()

	p := &process{memoryMB: spec.MemoryMB}
	defer func() {
		if err != nil {
			p.release(workdir.Keep{})
		}
	}()
	if err := t.beginOutput(); err != nil {
		return nil, err
	}
	temporary, releaseTemporary, err := t.host.Temporaries.Take("", "")
	if err != nil {
		return nil, err
	}
	p.releases = append(p.releases, func(workdir.Keep) { releaseTemporary(workdir.Keep{}) })
	if len(spec.Command) == 0 {
		return nil, errNoCommand
	}
	root := t.root(spec)
	work, releaseWork, err := t.host.Works.Take(root, t.fetched.State)
	if err != nil {
		return nil, err
	}
	p.releases = append(p.releases, releaseWork)
	if err := t.startInFolders(launch.Places{Temporary: temporary, Work: work, Root: root,
		Start: cmp.Or(t.host.Container.StartFolder(root), work)}, p, spec); err != nil {
		return nil, err
	}
	p.hello.begin(p.pipe, func() { t.remark(p, "hello of the process missing", noHello) })
	go p.pipe.Read(pipe.Handlers{
		Message: func(m pipe.Message) {
			p.hello.heard.Store(true)
			hear(p, m)
		},
		Ignored: func(what string) { t.ignore(p, what) },
		Closed:  func() { closed(p) },
	})
	return p, nil
}

// beginOutput prepares the folder for the task's output; only its first call has an effect.
func (t *task) beginOutput() error {
	if t.outputReady {
		return nil
	}
	end, err := t.host.Outputs.Begin(t.number)
	if err != nil {
		return err
	}
	t.outputReady, t.releases = true, append(t.releases, func() { end(t.endedAt) })
	return nil
}

var errNoCommand = errors.New("the app has no command to run")

// root returns the folder of the package that contains the command; empty without a package.
func (t *task) root(spec wire.Task) string {
	if t.fetched.Dir == "" {
		return ""
	}
	return pack.Root(t.fetched.Dir, spec.Command[0])
}

// startInFolders starts the process in its folders, unless the task was killed in the meantime.
func (t *task) startInFolders(at launch.Places, p *process, spec wire.Task) error {
	spec, err := t.resolveReferences(spec)
	if err != nil {
		return err
	}
	shard, err := launch.ShardContext(spec)
	if err != nil {
		return err
	}
	env := t.host.Base.Of(spec, at, shard)
	given := spec.Command
	if !spec.PlainCommand {
		given = append(slices.Clone(given), shard)
	}
	if err := t.host.Temporaries.MoveLarge(env, given, launch.MayBeLarge(), at.Temporary); err != nil {
		return err
	}
	path, args, err := launch.Find(cmp.Or(at.Root, at.Start), spec.Command, env["PATH"], t.host.As)
	if err != nil {
		return err
	}
	if err := context.Cause(t.ctx); err != nil {
		return err
	}
	p.explain = func() string {
		words := launch.Words{Dir: t.fetched.Dir, Root: cmp.Or(at.Root, at.Start),
			File: pack.FileName(spec.Package.URL)}
		return words.Explain(spec.Command, env["PATH"], t.host.As)
	}
	t.secrets.addFolders(at.Work, at.Root)
	path, args = workdir.InView(at.Root, at.Work, path, args)
	if !spec.PlainCommand {
		args = append(args, shard)
	}
	start := supervisor.Spec{
		Path: path, Args: args, Env: env.List(), Marker: launch.TaskVariable + "=" + spec.TaskID, Dir: at.Start,
		Processes: t.host.Processes, As: t.host.As,
	}
	files, stopCapture, err := t.host.Outputs.Streams(t.number, &start)
	if err != nil {
		return err
	}
	ends, theirs, err := pipe.Open(t.host.As)
	if err != nil {
		output.CloseAll(files)
		stopCapture()
		return err
	}
	p.stopCapture = stopCapture
	p.Process, err = t.host.Supervisor.Start(start, append(files, theirs...)...)
	if err != nil {
		ends.Close()
		stopCapture()
		var refused *supervisor.StartError
		if errors.As(err, &refused) {
			return launch.ExplainStart(path, spec.Command[0], refused, t.host.As)
		}
		return err
	}
	p.pipe = ends
	t.mu.Lock()
	defer t.mu.Unlock()
	t.process = p
	if t.ctx.Err() != nil {
		t.endProcess(p) // killed since the check above
	}
	return nil
}

// request returns the request of an HTTP job, with the values of its references. Reports hide these values from now
// on.
func (t *task) request(spec wire.Task) (wire.HTTP, error) {
	r, err := t.host.References.Request(spec)
	t.secrets.add(headerSecrets(r.Headers))
	return r, err
}

// resolveReferences returns the description with the values of its references, which it reads now. Reports hide these
// values from now on.
func (t *task) resolveReferences(spec wire.Task) (wire.Task, error) {
	if len(spec.EnvFiles)+len(spec.EnvVariables) == 0 {
		return spec, nil
	}
	values, err := t.host.References.Resolve(spec)
	if err != nil {
		return spec, err
	}
	env := maps.Clone(values)
	for name, value := range spec.Env {
		env[name] = value
	}
	spec.Env = env
	t.secrets.add(slices.Collect(maps.Values(values)))
	return spec, nil
}
