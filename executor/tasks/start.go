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

// startProcess starts a process of the task in a working folder that shows the package, if there is one. Another
// goroutine calls onMessage with each message that the process writes to its pipe, and onClosed when the process has
// closed its pipe, mostly because it has ended. That goroutine ends before process.wait returns, which the caller must
// call.
func (t *task) startProcess(spec wire.Task, onMessage func(*process, pipe.Message),
	onClosed func(*process)) (_ *process, err error) {
	// The supervisor starts processes one after the other, so it would not help to prepare more than a few at once. A
	// process gets its folders only when it may be prepared, so that many short tasks need few folders.
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
	places := launch.Places{Temporary: temporary, Work: work, Root: root,
		Start: cmp.Or(t.host.Container.StartFolder(root), work)}
	if err := t.startInFolders(places, p, spec); err != nil {
		return nil, err
	}
	p.hello.begin(p.pipe, func() { t.remark(p, "hello of the process missing", noHello) })
	go p.pipe.Read(pipe.Handlers{
		Message: func(m pipe.Message) {
			p.hello.heard.Store(true)
			onMessage(p, m)
		},
		Ignored: func(description string) { t.ignore(p, description) },
		Closed:  func() { onClosed(p) },
	})
	return p, nil
}

// beginOutput prepares the folder for the task's output. Once it has succeeded, further calls do nothing.
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

// root returns the folder of the package that contains the command. It returns "" if there is no package.
func (t *task) root(spec wire.Task) string {
	if t.fetched.Dir == "" {
		return ""
	}
	return pack.Root(t.fetched.Dir, spec.Command[0])
}

// startInFolders starts the process in its folders and sets the remaining fields of p. It returns an error if the task
// was killed before the start.
func (t *task) startInFolders(places launch.Places, p *process, spec wire.Task) error {
	spec, err := t.resolveReferences(spec)
	if err != nil {
		return err
	}
	shard, err := launch.ShardContext(spec)
	if err != nil {
		return err
	}
	env := t.host.Base.Of(spec, places, shard)
	commandLine := spec.Command
	if !spec.PlainCommand {
		commandLine = append(slices.Clone(commandLine), shard)
	}
	if err := t.host.Temporaries.MoveLarge(env, commandLine, launch.MayBeLarge(), places.Temporary); err != nil {
		return err
	}
	path, args, err := launch.Find(cmp.Or(places.Root, places.Start), spec.Command, env["PATH"], t.host.As)
	if err != nil {
		return err
	}
	if err := cmp.Or(context.Cause(t.ctx), t.checkLease()); err != nil {
		return err
	}
	p.explain = func() string {
		words := launch.Words{Dir: t.fetched.Dir, Root: cmp.Or(places.Root, places.Start),
			File: pack.FileName(spec.Package.URL)}
		return words.Explain(spec.Command, env["PATH"], t.host.As)
	}
	t.secrets.addFolders(places.Work, places.Root)
	path, args = workdir.InView(places.Root, places.Work, path, args)
	if !spec.PlainCommand {
		args = append(args, shard)
	}
	start := supervisor.Spec{
		Path: path, Args: args, Env: env.List(), Marker: launch.TaskVariable + "=" + spec.TaskID, Dir: places.Start,
		Processes: t.host.Processes, As: t.host.As, Until: t.leaseEnd(), LeaseGrace: t.grace(),
		GiveUp: spec.Lease != nil && t.host.Container == nil,
	}
	files, stopCapture, err := t.host.Outputs.Streams(t.number, &start)
	if err != nil {
		return err
	}
	ownEnds, processEnds, err := pipe.Open(t.host.As)
	if err != nil {
		output.CloseAll(files)
		stopCapture()
		return err
	}
	p.stopCapture = stopCapture
	p.Process, err = t.host.Supervisor.Start(start, append(files, processEnds...)...)
	if err != nil {
		ownEnds.Close()
		stopCapture()
		var startErr *supervisor.StartError
		if errors.As(err, &startErr) {
			return launch.ExplainStart(path, spec.Command[0], startErr, t.host.As)
		}
		return err
	}
	p.pipe = ownEnds
	t.mu.Lock()
	defer t.mu.Unlock()
	t.process = p
	if t.leaseEnds > start.Until {
		_ = p.Renew(t.leaseEnds) // renewed since the request of the start; an error means that the process has ended
	}
	if t.ctx.Err() != nil {
		t.endProcess(p) // the task was killed since the check above
	}
	return nil
}

// request returns the request of an HTTP job, with the values of its references. From now on, reports hide the values
// of its secret headers.
func (t *task) request(spec wire.Task) (wire.HTTP, error) {
	request, err := t.host.References.Request(spec)
	t.secrets.add(headerSecrets(request.Headers))
	return request, err
}

// resolveReferences reads the values that the description refers to, and returns the description with these values as
// variables. A variable of the description itself has precedence. From now on, reports hide these values.
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
