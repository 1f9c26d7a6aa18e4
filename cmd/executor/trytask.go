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

// locals returns the shards that the flags name.
func (f tryFlags) locals(now time.Time) ([]executor.Local, error) {
	job, err := f.readJob(now)
	if err != nil {
		return nil, err
	}
	parameters, bad := jobs.ShardingParameters(job)
	if err := bad.OrNil(); err != nil {
		return nil, fmt.Errorf("--job %s: %w", f.job, err)
	}
	first, last, each := f.item, f.item, f.given["param"]
	if f.all {
		first, last = 0, job.ShardingTotalCount-1
		of := job
		of.ShardingItemParameters = f.param
		if own, bad := jobs.ShardingParameters(of); f.param != "" && len(bad) == 0 {
			parameters, each = own, false
		}
	}
	var all []executor.Local
	for item := first; item <= last; item++ {
		local, err := f.local(job, item, now)
		if err != nil {
			return nil, err
		}
		if local.Task.ShardingParameter = parameters[item]; each {
			local.Task.ShardingParameter = f.param
		}
		all = append(all, local)
	}
	return all, nil
}

// local returns a shard of the job, in the form in which the scheduler would describe it for a trigger at now.
func (f tryFlags) local(job jobs.Config, item int, now time.Time) (executor.Local, error) {
	env := job.Environment()
	task := wire.Task{
		JobName: job.JobName, Item: item, Total: job.ShardingTotalCount, JobParameter: job.JobParameter,
		TaskID: jobs.TaskID{Job: job.JobName, Item: item, Type: jobs.TaskReady, Agent: "local",
			UUID: uuid.NewString()}.String(),
		ExecutionID: job.JobName + "@" + now.UTC().Format("20060102T150405Z"), Source: "TRIGGER", FireTime: now.UTC(),
		Attempt: 1,
		CPUs:    job.CPUCount, MemoryMB: job.MemoryMB, KeepFailed: job.KeepFailed, AppName: job.AppName, Env: env.Texts, EnvFiles: env.Files, EnvVariables: env.Variables, Secrets: env.Secrets,
		Props: job.OwnProps(), KillGraceMillis: int64(job.KillGraceSeconds) * 1000, TimeoutMillis: int64(job.TimeoutSeconds) * 1000, TimeZone: job.TimeZone,
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
	of, err := f.readApp()
	if err != nil {
		return executor.Local{}, err
	}
	line := of.BootstrapScript
	if own := job.Prop(jobs.PropScript); own != "" {
		line = own
	}
	if f.given["script"] {
		line = f.script
	}
	if bad := app.CheckCommand("--script", line); len(bad) > 0 {
		return executor.Local{}, fmt.Errorf("%w (the app's bootstrapScript)", bad)
	}
	local.Task.Package = wire.Package{URL: of.AppURL, SHA256: of.AppSHA256, Cache: of.AppCacheEnable}
	local.Task.PlainCommand = f.given["script"] || !job.ContextArgument()
	local.Task.Command, err = app.SplitCommand(line)
	return local, err
}

// readJob reads the job's document and validates it by the server's rules. Without a document it returns a job with
// as many shards as --item requires.
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
		broken, readable := document.Violations(nil), true
		if err != nil && !errors.As(err, &broken) {
			readable = false
		}
		if readable {
			rules, _ := decoded.Check(jobs.CheckOptions{Now: now})
			err = broken.And(rules).OrNil()
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

// readApp returns the app that --app names, by its document or by its package alone.
func (f tryFlags) readApp() (app.Config, error) {
	of := app.Default()
	switch {
	case f.app == "":
		return of, errors.New("--app is missing: give the package (a tar, zip, script or program), or the app's document as it is posted")
	case strings.Contains(f.app, "://"):
		of.AppURL = f.app
		return of, nil
	}
	path, err := filepath.Abs(f.app)
	if err != nil {
		return of, fmt.Errorf("--app: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return of, fmt.Errorf("--app: %w", err)
	}
	if info.IsDir() {
		return of, fmt.Errorf("--app %s is a folder: pack it as for a cluster (tar -czf /tmp/app.tar.gz -C %s .) and give the package", f.app, strconv.Quote(path))
	}
	begin, err := beginning(path)
	if err != nil {
		return of, fmt.Errorf("--app: %w", err)
	}
	if bytes.HasPrefix(bytes.TrimSpace(begin), []byte("{")) {
		return f.decodeApp(path)
	}
	of.AppURL = (&url.URL{Scheme: "file", Path: path}).String()
	if bytes.HasPrefix(begin, []byte("#!")) || bytes.HasPrefix(begin, []byte("\x7fELF")) { // not an archive
		of.BootstrapScript = quote(filepath.Base(path))
	}
	return of, nil
}

func (f tryFlags) decodeApp(path string) (app.Config, error) {
	body, err := os.ReadFile(path)
	if err != nil {
		return app.Config{}, fmt.Errorf("--app: %w", err)
	}
	of, _, err := app.Schema.Decode(body, app.Default())
	broken := document.Violations(nil)
	if err == nil || errors.As(err, &broken) {
		err = broken.And(of.Check(app.CheckOptions{AllowFile: true})).OrNil()
	}
	if err == nil && of.AppURL == "" {
		err = errors.New("the app has an image and no package: its shards run in containers only; give the package of one that has")
	}
	if err != nil {
		return of, fmt.Errorf("--app %s: %w", f.app, err)
	}
	return of, nil
}

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
