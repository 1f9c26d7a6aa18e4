package podlog

import (
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

// MostFollowed is how many pods are followed at once. Each is a connection through the API server to a node.
const MostFollowed = 500

// FollowerOptions are what a Follower needs; a zero value means the default.
type FollowerOptions struct {
	// Core is a client of the API server's core group.
	Core   rest.Interface
	Logger *slog.Logger
	// Most is how many pods are followed at once, MostFollowed.
	Most int
	// First and Longest are the pauses before an output that broke off is followed again, 1 s and 30 s.
	First, Longest time.Duration
}

// Follower hears what executors say in the output of pods that run, as kubernetes.Follower: runs of daemons, and
// progress. It follows so many pods at once, daemons before others. What is heard twice is the same, with its uuid;
// what a pod says of other tasks is not passed on.
type Follower struct {
	opt     FollowerOptions
	from    source
	running sync.WaitGroup

	mu      sync.Mutex
	pods    map[types.UID]*followed
	active  int
	waiting []*followed // in the order in which they came
	full    bool        // the log has said that daemons wait
}

// followed is a pod that is followed, or waits for it.
type followed struct {
	kubernetes.Pod
	ctx    context.Context // of its session
	report func(cluster.Event)
	stop   context.CancelFunc // nil while it waits
	forget func() bool        // has the end of the session forget it no more
}

var _ kubernetes.Follower = (*Follower)(nil)

// NewFollower follows nobody yet.
func NewFollower(opt FollowerOptions) *Follower {
	if opt.Most == 0 {
		opt.Most = MostFollowed
	}
	if opt.First == 0 {
		opt.First = time.Second
	}
	if opt.Longest == 0 {
		opt.Longest = 30 * time.Second
	}
	return &Follower{opt: opt, from: source{opt.Core}, pods: map[types.UID]*followed{}}
}

// Wait returns when nobody is followed any more: behind the ends of all sessions.
func (f *Follower) Wait() { f.running.Wait() }

// Running follows a pod, or has it wait until there is room.
func (f *Follower) Running(ctx context.Context, p kubernetes.Pod, report func(cluster.Event)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if old := f.pods[p.UID]; old != nil {
		f.remove(old)
	}
	one := &followed{Pod: p, ctx: ctx, report: report}
	one.forget = context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.remove(one)
	})
	f.pods[p.UID] = one
	f.waiting = append(f.waiting, one)
	if p.Daemon && f.active >= f.opt.Most {
		f.displace()
	}
	f.begin()
	if full := one.stop == nil && p.Daemon; full && !f.full {
		f.full = true
		f.opt.Logger.Warn("runs of daemons are not heard, nor shown, before others have ended: too many pods are followed", "most", f.opt.Most, "pod", p.Name, "task", p.TaskID)
	}
}

// Gone ends following a pod.
func (f *Follower) Gone(uid types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one := f.pods[uid]; one != nil {
		f.remove(one)
	}
}

// remove forgets a pod, unless that was done. f.mu is held.
func (f *Follower) remove(one *followed) {
	if f.pods[one.UID] != one {
		return
	}
	delete(f.pods, one.UID)
	one.forget()
	if one.stop == nil {
		f.waiting = slices.DeleteFunc(f.waiting, func(other *followed) bool { return other == one })
		return
	}
	one.stop()
	f.active--
	f.begin()
}

// displace has a pod that is no daemon's wait again, if one is followed. f.mu is held.
func (f *Follower) displace() {
	for _, one := range f.pods {
		if one.stop != nil && !one.Daemon {
			one.stop()
			one.stop = nil
			f.active--
			f.waiting = append(f.waiting, one)
			return
		}
	}
}

// begin follows those that wait, daemons first, while there is room. f.mu is held.
func (f *Follower) begin() {
	for f.active < f.opt.Most && len(f.waiting) > 0 {
		next := max(slices.IndexFunc(f.waiting, func(one *followed) bool { return one.Daemon }), 0)
		one := f.waiting[next]
		f.waiting = slices.Delete(f.waiting, next, next+1)
		f.active++
		var ctx context.Context
		ctx, one.stop = context.WithCancel(one.ctx)
		p, report := one.Pod, one.report
		f.running.Go(func() { f.follow(ctx, p, report) })
	}
}

const (
	// firstSeconds is how far back a pod is heard that runs already when it is followed, longer than a change of
	// leader takes. What was said before counts by the totals of what is said next.
	firstSeconds = 3600
	// overlap is heard twice where an output is followed again.
	overlap = 5 * time.Second
)

// follow hears a pod until ctx ends. The way back is given as seconds that have passed, since clocks of nodes differ;
// until its output was opened once it is all of firstSeconds.
func (f *Follower) follow(ctx context.Context, p kubernetes.Pod, report func(cluster.Event)) {
	var heard time.Time
	seconds, pause := int64(firstSeconds), f.opt.First
	for ctx.Err() == nil {
		opened, last, err := f.hear(ctx, p, seconds, report)
		if ctx.Err() != nil {
			return
		}
		if last.After(heard) {
			heard, pause = last, f.opt.First
		} else if heard.IsZero() {
			heard = opened
		}
		f.opt.Logger.Debug("output of a pod broke off", "pod", p.Name, "task", p.TaskID, "again_in", pause, "error",
			err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		if !heard.IsZero() {
			seconds = min(int64((time.Since(heard)+overlap)/time.Second)+1, firstSeconds)
		}
		pause = min(2*pause, f.opt.Longest)
	}
}

// hear hears a pod until its output ends or breaks off, and says when that was opened and when something came last;
// zero if neither was so.
func (f *Follower) hear(ctx context.Context, p kubernetes.Pod, seconds int64, report func(cluster.Event)) (opened,
	last time.Time, err error) {
	stream, err := f.from.follow(ctx, place{p.Namespace, p.Name, string(p.UID)}, pod.Container, seconds)
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

// eventOf is what a record of a pod means for the scheduler; nil for nothing. A job can write records, too: of its own
// task only.
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
