package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/executor"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// shards returns the shards that the flags name. With --all, --param has either one parameter for all shards or a list
// of the form of shardingItemParameters.
func (f tryFlags) shards(now time.Time) ([]executor.Local, error) {
	job, err := f.readJob(now)
	if err != nil {
		return nil, err
	}
	parameters, violations := jobs.ShardingParameters(job)
	if err := violations.OrNil(); err != nil {
		return nil, fmt.Errorf("--job %s: %w", f.job, err)
	}
	first, last, sameForAll := f.item, f.item, f.given["param"]
	if f.all {
		first, last = 0, job.ShardingTotalCount-1
		changed := job
		changed.ShardingItemParameters = f.param
		if list, violations := jobs.ShardingParameters(changed); f.param != "" && len(violations) == 0 {
			parameters, sameForAll = list, false
		}
	}
	var all []executor.Local
	for item := first; item <= last; item++ {
		local, err := f.shard(job, item, now)
		if err != nil {
			return nil, err
		}
		if local.Task.ShardingParameter = parameters[item]; sameForAll {
			local.Task.ShardingParameter = f.param
		}
		all = append(all, local)
	}
	return all, nil
}

// shard returns a shard of the job, as the scheduler would describe it for a trigger at the time now.
func (f tryFlags) shard(job jobs.Config, item int, now time.Time) (executor.Local, error) {
	env := job.Environment()
	task := wire.Task{
		JobName: job.JobName, Item: item, Total: job.ShardingTotalCount, JobParameter: job.JobParameter,
		TaskID: jobs.TaskID{Job: job.JobName, Item: item, Type: jobs.TaskReady, Agent: "local",
			UUID: uuid.NewString()}.String(),
		ExecutionID: job.JobName + "@" + now.UTC().Format("20060102T150405Z"), Source: "TRIGGER", FireTime: now.UTC(),
		Attempt: 1, CPUs: job.CPUCount, MemoryMB: job.MemoryMB, KeepFailed: job.KeepFailed, AppName: job.AppName,
		Env: env.Texts, EnvFiles: env.Files, EnvVariables: env.Variables, Secrets: env.Secrets,
		Props: job.OwnProps(), KillGraceMillis: int64(job.KillGraceSeconds) * 1000,
		TimeoutMillis: int64(job.TimeoutSeconds) * 1000, TimeZone: job.TimeZone,
	}
	local := executor.Local{Task: task, Timeout: time.Duration(job.TimeoutSeconds) * time.Second}
	if r, ok := job.HTTP(); ok {
		local.Task.HTTP = &wire.HTTP{URL: r.URL, Method: r.Method, Data: r.Data, ContentType: r.ContentType,
			ConnectTimeoutMillis: r.ConnectTimeout, ReadTimeoutMillis: r.ReadTimeout, Proxy: r.Proxy}
		for name, text := range r.Headers {
			if local.Task.HTTP.Headers == nil {
				local.Task.HTTP.Headers = map[string]wire.Header{}
			}
			local.Task.HTTP.Headers[name] = wire.Header{Value: text.Value, File: text.FromFile, Variable: text.FromEnv,
				Secret: text.Secret}
		}
		return local, nil
	}
	a, err := f.readApp()
	if err != nil {
		return executor.Local{}, err
	}
	line := a.BootstrapScript
	if script := job.Prop(jobs.PropScript); script != "" {
		line = script
	}
	if f.given["script"] {
		line = f.script
	}
	if violations := app.CheckCommand("--script", line); len(violations) > 0 {
		return executor.Local{}, fmt.Errorf("%w (the app's bootstrapScript)", violations)
	}
	local.Task.Package = wire.Package{URL: a.AppURL, SHA256: a.AppSHA256, Cache: a.AppCacheEnable}
	local.Task.PlainCommand = f.given["script"] || !job.ContextArgument()
	local.Task.Command, err = app.SplitCommand(line)
	return local, err
}

// readJob reads the job's document and checks it by the server's rules. Without a document it returns a job with as
// many shards as --item requires.
func (f tryFlags) readJob(now time.Time) (jobs.Config, error) {
	job := jobs.Default()
	if f.job == "" {
		job.JobName, job.ShardingTotalCount = "job", f.item+1
	} else {
		body, err := os.ReadFile(f.job)
		if err != nil {
			return job, fmt.Errorf("--job: %w", err)
		}
		decoded, _, err := jobs.Schema.Decode(body, job)
		var undecoded document.Violations
		if err == nil || errors.As(err, &undecoded) {
			broken, _ := decoded.Check(jobs.CheckOptions{Now: now})
			err = undecoded.And(broken).OrNil()
		}
		if err != nil {
			return job, fmt.Errorf("--job %s: %w", f.job, err)
		}
		job = decoded
	}
	if f.item < 0 || f.item >= job.ShardingTotalCount || f.item >= jobs.MaxShards {
		return job, fmt.Errorf("--item %d: must be from 0 to %d, the job has a shardingTotalCount of %d", f.item,
			min(job.ShardingTotalCount, jobs.MaxShards)-1, job.ShardingTotalCount)
	}
	return job, nil
}

// readApp returns the app that --app names: by its document, or by its package alone.
func (f tryFlags) readApp() (app.Config, error) {
	a := app.Default()
	switch {
	case f.app == "":
		return a, errors.New("--app is missing: give the package (a tar, zip, script or program), or the app's document as it is posted")
	case strings.Contains(f.app, "://"):
		a.AppURL = f.app
		return a, nil
	}
	path, err := filepath.Abs(f.app)
	if err != nil {
		return a, fmt.Errorf("--app: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return a, fmt.Errorf("--app: %w", err)
	}
	if info.IsDir() {
		return a, fmt.Errorf("--app %s is a folder: pack it as for a cluster (tar -czf /tmp/app.tar.gz -C %s .) and give the package",
			f.app, strconv.Quote(path))
	}
	begin, err := beginning(path)
	if err != nil {
		return a, fmt.Errorf("--app: %w", err)
	}
	if bytes.HasPrefix(bytes.TrimSpace(begin), []byte("{")) {
		return f.decodeApp(path)
	}
	a.AppURL = (&url.URL{Scheme: "file", Path: path}).String()
	isProgram := bytes.HasPrefix(begin, []byte("#!")) || bytes.HasPrefix(begin, []byte("\x7fELF"))
	if isProgram {
		a.BootstrapScript = quote(filepath.Base(path))
	}
	return a, nil
}

// decodeApp reads an app's document and checks it by the server's rules.
func (f tryFlags) decodeApp(path string) (app.Config, error) {
	body, err := os.ReadFile(path)
	if err != nil {
		return app.Config{}, fmt.Errorf("--app: %w", err)
	}
	a, _, err := app.Schema.Decode(body, app.Default())
	var undecoded document.Violations
	if err == nil || errors.As(err, &undecoded) {
		err = undecoded.And(a.Check(app.CheckOptions{AllowFile: true})).OrNil()
	}
	if err == nil && a.AppURL == "" {
		err = errors.New("the app has an image and no package: its shards run in containers only; give the package of an app that has one")
	}
	if err != nil {
		return a, fmt.Errorf("--app %s: %w", f.app, err)
	}
	return a, nil
}

// beginning returns the first bytes of a file.
func beginning(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, 512))
}

// quote quotes a word so that SplitCommand returns it as one word.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
