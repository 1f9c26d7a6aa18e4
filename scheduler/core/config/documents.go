package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// readApp reads an app's document from the registry, in either format. Documents are checked when they are registered,
// but external edits and documents of the original are not, so they are checked here. They are read as leniently as
// the original read them, with notes: a document is refused only if the app cannot run. A name that has become
// reserved for a route of the API since is accepted.
func readApp(opt *step.Options, name string, e registry.Entry) (app.Config, []string, error) {
	cfg, notes, err := readDocument(opt.Documents, e, app.Default(), app.Schema.DecodeStored)
	if err != nil {
		return cfg, nil, err
	}
	if cfg.AppName != name {
		return cfg, nil, fmt.Errorf("its appName is %q and the node's name %q; they must be equal", cfg.AppName,
			name)
	}
	check := app.CheckOptions{AllowFile: true, NoContainers: !opt.TaskExecutors}
	if lenient, more := cfg.Lenient(); len(more) > 0 {
		cfg, notes = lenient, append(notes, more...)
	}
	return cfg, notes, cfg.Check(check).OrNil()
}

// readJob reads a job's document from the registry; see readApp.
func readJob(opt *step.Options, name string, e registry.Entry, wall time.Time) (jobs.Config, []string, error) {
	cfg, notes, err := readDocument(opt.Documents, e, jobs.Default(), jobs.Schema.DecodeStored)
	if err != nil {
		return cfg, nil, err
	}
	if cfg.JobName != name {
		return cfg, nil, fmt.Errorf("its jobName is %q and the node's name %q; they must be equal", cfg.JobName,
			name)
	}
	check := jobs.CheckOptions{Now: wall, Local: opt.Zone}
	violations, _ := cfg.Check(check)
	if len(violations) > 0 {
		lenient, more := cfg.Lenient()
		cfg, notes, check.InForce = lenient, append(notes, more...), &lenient
		violations, _ = cfg.Check(check)
	}
	return cfg, notes, violations.OrNil()
}

// readDocument decodes a document. It is fast if the document is exactly as this scheduler writes it. Any other
// document goes through decode, which checks more, because an external edit may contain a field twice or in another
// case.
func readDocument[C any](format step.DocumentFormat, e registry.Entry, cfg C,
	decode func([]byte) (C, []string, error)) (C, []string, error) {
	if e.Unreadable != "" {
		return cfg, nil, faultError{reason.DocumentUnreadable(e.Unreadable)}
	}
	if format == step.JSONDocuments && len(e.Value) <= jobs.MaxDocumentBytes && json.Unmarshal(e.Value, &cfg) == nil &&
		bytes.Equal(store.Encode(cfg), e.Value) {
		return cfg, nil, nil
	}
	return decode(e.Value)
}

// encode encodes a document in the format in which documents are written.
func encode[C any](k *Set, cfg C, yaml func(C) []byte) []byte {
	if k.shared.Opt.Documents == step.YAMLDocuments {
		return yaml(cfg)
	}
	return store.Encode(cfg)
}

// Document is the result of ReadDocument: the document of an app or a job, or the reason why it cannot be used.
type Document struct {
	path    string
	version int64
	app     app.Config
	job     *jobs.Config
	notes   []string
	bytes   int
	err     error
}

// App returns the app's document. It may be called only for the path of an app, and if there is no error.
func (d Document) App() app.Config { return d.app }

// Job returns the job's document; nil for the path of an app, or with an error.
func (d Document) Job() *jobs.Config {
	if d.err != nil {
		return nil
	}
	return d.job
}

// Notes say which parts of the document are read differently than they stand there, or have no effect.
func (d Document) Notes() []string { return d.notes }

// Err is why the document cannot be used, or nil.
func (d Document) Err() error { return d.err }

// ReadDocument reads an entry of the registry if it is the document of an app or a job, and ignores any other. wall is
// the time against which the document's cron is checked. ReadDocument may be called concurrently, because with 100,000
// jobs it is most of the work at the beginning of a term.
func ReadDocument(opt *step.Options, wall time.Time, e registry.Entry) Document {
	d := Document{path: e.Path, version: e.Version, bytes: len(e.Value)}
	switch dir, name := store.Split(e.Path); dir {
	case store.PathApps:
		d.app, d.notes, d.err = readApp(opt, name, e)
	case store.PathJobs:
		var cfg jobs.Config
		cfg, d.notes, d.err = readJob(opt, name, e, wall)
		d.job = &cfg
	}
	return d
}
