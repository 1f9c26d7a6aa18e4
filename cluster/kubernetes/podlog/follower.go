package podlog

import (
	"cmp"
	"context"
	"crypto/sha256"
	"log/slog"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// MaxFollowed is the default limit of pods that are followed at the same time. Each one is a connection through the
// API server to a node.
const MaxFollowed = 500

// FollowerOptions configure a Follower; a zero value means the default.
type FollowerOptions struct {
	// Core is a client of the API server's core group.
	Core   rest.Interface
	Logger *slog.Logger
	// MaxPods limits the pods that are followed at the same time; the default is MaxFollowed.
	MaxPods int
	// MinPause and MaxPause are the shortest and longest pause before an output that broke off is followed again, 1 s
	// and 30 s by default.
	MinPause, MaxPause time.Duration
}

// Follower implements kubernetes.Follower. It reads the executors' records in the output of running pods: runs of
// daemons, and progress. It follows at most MaxPods pods, daemons before others. A record of a run that is read twice
// yields updates with the same UUID. Records about other tasks than the pod's own are dropped.
type Follower struct {
	opt     FollowerOptions
	source  source
	running sync.WaitGroup

	mu         sync.Mutex
	pods       map[types.UID]*followedPod
	active     int            // how many of pods are followed; the others wait
	waiting    []*followedPod // in the order of arrival
	fullLogged bool           // the log has said that daemons wait
}

// followedPod is a pod that is followed, or waits until it can be followed.
type followedPod struct {
	kubernetes.Pod
	ctx    context.Context // of its session
	report func(cluster.Event)
	stop   context.CancelFunc // nil while the pod waits
	// cancelRemoval cancels the removal of the pod at the end of its session.
	cancelRemoval func() bool
}

var _ kubernetes.Follower = (*Follower)(nil)

// NewFollower returns a Follower that follows no pods yet.
func NewFollower(opt FollowerOptions) *Follower {
	opt.MaxPods = cmp.Or(opt.MaxPods, MaxFollowed)
	opt.MinPause, opt.MaxPause = cmp.Or(opt.MinPause, time.Second), cmp.Or(opt.MaxPause, 30*time.Second)
	return &Follower{opt: opt, source: source{opt.Core}, pods: map[types.UID]*followedPod{}}
}

// Wait returns when no pod is followed any more. Call it after all sessions have ended.
func (f *Follower) Wait() { f.running.Wait() }

// Running follows a pod until Gone is called or ctx ends. If the limit is reached, a daemon's pod takes the place of a
// pod that is not a daemon's, which then waits. Any other pod waits itself.
func (f *Follower) Running(ctx context.Context, p kubernetes.Pod, report func(cluster.Event)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if old := f.pods[p.UID]; old != nil {
		f.remove(old)
	}
	entry := &followedPod{Pod: p, ctx: ctx, report: report}
	entry.cancelRemoval = context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.remove(entry)
	})
	f.pods[p.UID] = entry
	f.waiting = append(f.waiting, entry)
	if p.Daemon && f.active >= f.opt.MaxPods {
		f.displace()
	}
	f.followWaiting()
	if daemonWaits := entry.stop == nil && p.Daemon; daemonWaits && !f.fullLogged {
		f.fullLogged = true
		f.opt.Logger.Warn("runs of daemons delayed until other pods have ended: too many pods are followed",
			"limit", f.opt.MaxPods, "pod", p.Name, "task", p.TaskID)
	}
}

// Gone stops following a pod.
func (f *Follower) Gone(uid types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if entry := f.pods[uid]; entry != nil {
		f.remove(entry)
	}
}

// remove stops following a pod. It does nothing if the pod was removed before. f.mu must be held.
func (f *Follower) remove(entry *followedPod) {
	if f.pods[entry.UID] != entry {
		return
	}
	delete(f.pods, entry.UID)
	entry.cancelRemoval()
	if entry.stop == nil {
		f.waiting = slices.DeleteFunc(f.waiting, func(other *followedPod) bool { return other == entry })
		return
	}
	entry.stop()
	f.active--
	f.followWaiting()
}

// displace stops following one pod that is not a daemon's, if there is one, and lets it wait. f.mu must be held.
func (f *Follower) displace() {
	for _, entry := range f.pods {
		if entry.stop != nil && !entry.Daemon {
			entry.stop()
			entry.stop = nil
			f.active--
			f.waiting = append(f.waiting, entry)
			return
		}
	}
}

// followWaiting starts to follow waiting pods up to the limit, daemons first. f.mu must be held.
func (f *Follower) followWaiting() {
	for f.active < f.opt.MaxPods && len(f.waiting) > 0 {
		next := max(slices.IndexFunc(f.waiting, func(entry *followedPod) bool { return entry.Daemon }), 0)
		entry := f.waiting[next]
		f.waiting = slices.Delete(f.waiting, next, next+1)
		f.active++
		var ctx context.Context
		ctx, entry.stop = context.WithCancel(entry.ctx)
		p, report := entry.Pod, entry.report
		f.running.Go(func() { f.follow(ctx, p, report) })
	}
}

const (
	// firstSeconds is how far back the output of an already running pod is read. It is longer than a change of leaders
	// takes. Older records can be skipped, because later ones contain totals that include them.
	firstSeconds = 3600
	// overlap is the period that is read again when an output that broke off is followed again.
	overlap = 5 * time.Second
)

// follow reads a pod's records until ctx ends. It requests earlier output by elapsed seconds, because the clocks of
// nodes differ. Until the output has been opened once, it requests all of firstSeconds.
func (f *Follower) follow(ctx context.Context, p kubernetes.Pod, report func(cluster.Event)) {
	var lastData time.Time
	seconds, pause := int64(firstSeconds), f.opt.MinPause
	for ctx.Err() == nil {
		opened, last, err := f.readRecords(ctx, p, seconds, report)
		if ctx.Err() != nil {
			return
		}
		if last.After(lastData) {
			lastData, pause = last, f.opt.MinPause
		} else if lastData.IsZero() {
			lastData = opened
		}
		f.opt.Logger.Debug("output stream of a pod failed", "pod", p.Name, "task", p.TaskID, "retry_in", pause, "error",
			err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		if !lastData.IsZero() {
			seconds = min(int64((time.Since(lastData)+overlap)/time.Second)+1, firstSeconds)
		}
		pause = min(2*pause, f.opt.MaxPause)
	}
}

// readRecords reads a pod's output until it ends or breaks off. It returns when the output was opened and when data
// last arrived; zero for never.
func (f *Follower) readRecords(
	ctx context.Context, p kubernetes.Pod, seconds int64, report func(cluster.Event),
) (opened, last time.Time, err error) {
	stream, err := f.source.follow(ctx, podRef{p.Namespace, p.Name, string(p.UID)}, pod.Container, seconds)
	if err != nil {
		return opened, last, err
	}
	defer stream.Close()
	opened = time.Now()
	var output wire.PodOutput
	buffer := make([]byte, 4<<10)
	for {
		n, err := stream.Read(buffer)
		if n > 0 {
			last = time.Now()
		}
		_, records := output.Next(buffer[:n])
		for _, r := range records {
			if e := eventOf(p, r); e != nil && ctx.Err() == nil {
				report(e)
			}
		}
		if err != nil {
			return opened, last, err
		}
	}
}

// eventOf converts a record of a pod into an event, or returns nil if the record is not for the scheduler. A job can
// write records as well, so eventOf accepts only those about the pod's own task.
func eventOf(p kubernetes.Pod, r wire.PodRecord) cluster.Event {
	switch {
	case r.Report != nil:
		own := *r.Report
		own.Tasks = slices.DeleteFunc(own.Tasks, func(t wire.TaskReport) bool { return t.TaskID != p.TaskID })
		if len(own.Tasks) == 0 {
			return nil
		}
		return cluster.Message{AgentID: p.Node, Report: &own}
	case r.Status != nil && r.Status.Run != nil:
		own := *r.Status
		own.Dir, own.Sandbox = p.Namespace+"/"+p.Name+"/"+string(p.UID), ""
		data, err := own.Encode()
		if err != nil {
			return nil
		}
		sum := sha256.Sum256(append([]byte(p.UID+"\x00"), data...))
		at := own.Run.Start
		if own.Run.Complete.After(at) {
			at = own.Run.Complete
		}
		return cluster.Update{TaskID: p.TaskID, AgentID: p.Node, State: cluster.Running, Source: cluster.FromExecutor,
			UUID: sum[:16], Status: &own, Timestamp: at}
	}
	return nil
}
