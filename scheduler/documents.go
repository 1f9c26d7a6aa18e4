package scheduler

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
)

// DocumentFormat is the form of documents of apps and jobs in the registry.
type DocumentFormat int

const (
	// JSONDocuments are ours, and ElasticJob-Cloud 2.x's.
	JSONDocuments DocumentFormat = iota
	// YAMLDocuments are as ElasticJob-Cloud 3.x reads and writes them.
	YAMLDocuments
)

// readApp reads an app's document from the registry, in either form. Documents were
// checked when they came in; what somebody else wrote there is checked here. Names that
// routes of the API have taken since are no reason not to run a job.
func (c *Core) readApp(name string, e registry.Entry) (app.Config, []string, error) {
	cfg, notes, err := readDocument(c.opt.Documents, e, app.Default(), app.DecodeStored)
	if err != nil {
		return cfg, nil, err
	}
	if cfg.AppName != name {
		return cfg, nil, fmt.Errorf("its appName is %q and its node's name %q: they must be the same", cfg.AppName, name)
	}
	return cfg, notes, cfg.Check(app.CheckOptions{AllowFile: true}).OrNil()
}

// readJob reads a job's document from the registry; see readApp.
func (c *Core) readJob(name string, e registry.Entry, now time.Time) (jobs.Config, []string, error) {
	cfg, notes, err := readDocument(c.opt.Documents, e, jobs.Default(), jobs.DecodeStored)
	if err != nil {
		return cfg, nil, err
	}
	if cfg.JobName != name {
		return cfg, nil, fmt.Errorf("its jobName is %q and its node's name %q: they must be the same", cfg.JobName, name)
	}
	violations, _ := cfg.Check(jobs.CheckOptions{Now: now, Local: c.opt.Zone})
	return cfg, notes, violations.OrNil()
}

// readDocument reads a document that is just as we write it at once, any other with care: what
// somebody has edited may hold names twice, or in other letters.
func readDocument[C any](format DocumentFormat, e registry.Entry, cfg C, decode func([]byte) (C, []string, error)) (C, []string, error) {
	if e.Unreadable != "" {
		return cfg, nil, fmt.Errorf("it can't be read: %s", e.Unreadable)
	}
	if format == JSONDocuments && len(e.Value) <= jobs.MaxDocumentBytes && json.Unmarshal(e.Value, &cfg) == nil && bytes.Equal(encode(cfg), e.Value) {
		return cfg, nil, nil
	}
	return decode(e.Value)
}

func (c *Core) writeApp(cfg app.Config) []byte {
	if c.opt.Documents == YAMLDocuments {
		return app.EncodeYAML(cfg)
	}
	return encode(cfg)
}

func (c *Core) writeJob(cfg jobs.Config) []byte {
	if c.opt.Documents == YAMLDocuments {
		return jobs.EncodeYAML(cfg)
	}
	return encode(cfg)
}

// loadedDocument is what was read of an entry.
type loadedDocument struct {
	path    string
	version int64
	app     app.Config
	job     *jobs.Config
	notes   []string
	err     error
}

// readDocuments reads the documents among the entries, each by itself and so on all
// processors: of 100,000 jobs they are most of the work of a new leader.
func (c *Core) readDocuments(entries []registry.Entry) []loadedDocument {
	out := make([]loadedDocument, len(entries))
	read := func(part []registry.Entry, out []loadedDocument) {
		for i, e := range part {
			d := &out[i]
			d.path, d.version = e.Path, e.Version
			switch dir, name := splitPath(e.Path); dir {
			case pathApps:
				d.app, d.notes, d.err = c.readApp(name, e)
			case pathJobs:
				var cfg jobs.Config
				cfg, d.notes, d.err = c.readJob(name, e, c.now)
				d.job = &cfg
			}
		}
	}
	const few = 500
	if len(entries) <= few {
		read(entries, out)
		return out
	}
	var wg sync.WaitGroup
	size := max(len(entries)/runtime.GOMAXPROCS(0)+1, few)
	for from := 0; from < len(entries); from += size {
		to := min(from+size, len(entries))
		wg.Go(func() { read(entries[from:to], out[from:to]) })
	}
	wg.Wait()
	return out
}
