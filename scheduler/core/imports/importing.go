package imports

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Restore adds an entry below /state/ready, /state/failover or /state/running, and returns false for any other path.
// An entry of failover or running without an item is only the folder of a job's entries. Restore is called while the
// state of a term is loaded.
func (im *Imports) Restore(e registry.Entry) bool {
	for _, dir := range []string{store.PathReady, store.PathFailover, store.PathRunning} {
		rest, ok := strings.CutPrefix(e.Path, dir+"/")
		if !ok {
			continue
		}
		job, item, _ := strings.Cut(rest, "/")
		im.found = append(im.found, importEntry{e.Path, job, item, string(e.Value)})
		return true
	}
	return false
}

// ImportQueues turns the entries from Restore into executions, or passes them to the takeover. It is called once,
// while a term loads its state, after all documents are loaded. An entry that cannot be decoded, or whose job cannot
// run, stays in the registry, with a note of the reason; the next term tries it again.
func (im *Imports) ImportQueues() {
	entries := im.found
	im.found = nil
	lost := map[string][]importEntry{}
	var folders []string
	stays := map[string]bool{} // the folders of entries that stay
	for _, e := range entries {
		var err error
		switch {
		case strings.HasPrefix(e.path, store.PathReady+"/"):
			err = im.importReady(e)
		case e.item == "":
			folders = append(folders, e.path)
			continue
		case strings.HasPrefix(e.path, store.PathFailover+"/"):
			if err = im.importable(e.job); err == nil && im.st.Config.Job(e.job).IsDaemon() {
				im.RemoveEntries(e.path)
			} else if err == nil {
				lost[e.job] = append(lost[e.job], e)
			}
		default:
			im.importRunning(e)
			continue
		}
		if err != nil {
			im.leaveEntry(e, err, stays)
		}
	}
	for _, job := range step.SortedKeys(lost) {
		im.importFailover(job, lost[job], stays)
	}
	for _, path := range folders {
		switch {
		case stays[path]:
		case im.st.Subscription.InTakeover() && strings.HasPrefix(path, store.PathRunning+"/"):
			im.st.Subscription.ImportRunning(path, "")
		default:
			im.RemoveEntries(path)
		}
	}
}

// fireTime returns the fire time of imported executions: the wall clock, in whole milliseconds.
func (im *Imports) fireTime() time.Time { return im.st.Wall().Truncate(time.Millisecond) }

// leaveEntry notes why an entry stays in the registry, and that its folder stays, too.
func (im *Imports) leaveEntry(e importEntry, err error, stays map[string]bool) {
	dir, _ := store.Split(e.path)
	stays[dir] = true
	im.st.Note(step.Note{Kind: step.NoteImport, Job: e.job, Problem: true,
		Detail: fmt.Sprintf("%s left unchanged: %v", e.path, err)})
}

// importable returns why the entries of a job cannot be run, or nil.
func (im *Imports) importable(job string) error {
	j := im.st.Config.Job(job)
	switch {
	case im.st.Config.HasFault(store.Under(store.PathJobs, job)):
		return fmt.Errorf("the job's document can't be used: %s",
			im.st.Config.FaultAt(store.Under(store.PathJobs, job)).Why())
	case j == nil || j.Config() == nil:
		return fmt.Errorf("there is no job %q", job)
	case im.st.Config.App(j.Config().AppName) == nil:
		return errors.New(im.st.Config.AppMissingReason(j.Config().AppName).String())
	}
	return nil
}

// importReady makes the waiting executions of a job: as many as the entry's counter says, but at most
// Options.MaxQueuedFires (rule F5), and only one if the job has no misfire. It makes none for a daemon.
func (im *Imports) importReady(e importEntry) error {
	if err := im.importable(e.job); err != nil {
		return err
	}
	if im.st.Config.Job(e.job).IsDaemon() {
		im.RemoveEntries(e.path) // the shards of a daemon are placed without it
		return nil
	}
	times, err := strconv.Atoi(strings.TrimSpace(e.value))
	if err != nil || times < 1 {
		return fmt.Errorf("%q is not a number of runs", e.value)
	}
	j, source := im.st.Config.Job(e.job), executions.Misfired
	if !j.Config().Misfire {
		times, source = 1, executions.NormalTrigger
	}
	if times > im.st.Opt.MaxQueuedFires {
		im.st.Note(step.Note{Kind: step.NoteImport, Job: e.job, Problem: true,
			Detail: fmt.Sprintf("of %d waiting runs, %d are imported: no more may wait (rule F5)", times,
				im.st.Opt.MaxQueuedFires)})
		times = im.st.Opt.MaxQueuedFires
	}
	for n := range times {
		im.st.Executions.Import(executions.NewExecution{ID: fmt.Sprintf("%s-%03d", im.importID(e.job), n+1),
			Job: e.job, Fire: im.fireTime(), Source: source})
	}
	im.RemoveEntries(e.path)
	return nil
}

// importID returns the common prefix of the ids of a job's imported executions.
func (im *Imports) importID(job string) string {
	return job + "@import-" + im.fireTime().Format("20060102T150405.000Z")
}

// importFailover makes one execution for all lost shards of a job. The job's other shards do not run again: they had
// ended under the original.
func (im *Imports) importFailover(job string, entries []importEntry, stays map[string]bool) {
	j := im.st.Config.Job(job)
	lost, shards := map[int]string{}, j.Config().ShardingTotalCount
	for _, entry := range entries {
		name, text, ok := strings.Cut(entry.item, "@-@")
		item, err := strconv.Atoi(text)
		switch {
		case !ok || err != nil || name != job:
			im.leaveEntry(entry, fmt.Errorf("%q is not a shard of the job", entry.item), stays)
			continue
		case item < 0 || item >= shards:
			im.leaveEntry(entry, fmt.Errorf("the job has %d shards", shards), stays)
			continue
		}
		lost[item] = entry.value
		im.RemoveEntries(entry.path)
	}
	if len(lost) == 0 {
		return
	}
	e := executions.NewExecution{ID: im.importID(job) + "-failover", Job: job, Fire: im.fireTime(),
		Source: executions.FailoverSource}
	with := &executions.Settings{App: *im.st.Config.App(j.Config().AppName).Config(),
		Job: j.Config().WithoutNotifications()}
	im.st.Executions.ImportLost(e, with, lost, im.fireTime())
}

// importRunning passes a running daemon task of the original to the takeover, which waits for its end (rule T8).
// Without a takeover, the framework id is this scheduler's own. No task of the original can exist under it, so the
// entry is removed.
func (im *Imports) importRunning(e importEntry) {
	if !im.st.Subscription.InTakeover() {
		im.RemoveEntries(e.path)
		return
	}
	im.st.Subscription.ImportRunning(e.path, e.value)
}
