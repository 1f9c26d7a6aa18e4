// Package podevent records the scheduler's decisions about pods as Kubernetes events, which kubectl describe pod
// shows. No program depends on these events, so they may be lost: the Recorder writes them at a limited rate, and
// counts the events that it drops.
package podevent

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/elasticjob-go/elasticjob/cluster/kubernetes"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// Events are written at a rate of perSecond with bursts of up to burst; up to maxQueued events wait.
const (
	perSecond    = 20
	burst        = 200
	maxQueued    = 1000
	writeTimeout = 10 * time.Second
	// logInterval is the minimum interval between log lines about dropped events.
	logInterval = time.Minute
	// maxMessage is the API's limit for an event's message.
	maxMessage = 1024
)

// Recorder implements kubernetes.Recorder. Its methods may be called concurrently.
type Recorder struct {
	core    rest.Interface
	log     *slog.Logger
	queue   chan *corev1.Event
	limiter *rate.Limiter
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu         sync.Mutex
	dropped    int64
	lastLogged time.Time
}

var _ kubernetes.Recorder = (*Recorder)(nil)

// New starts a Recorder that writes events through a client of the API server's core group, until Close.
func New(core rest.Interface, log *slog.Logger) *Recorder {
	r := &Recorder{core: core, log: log, queue: make(chan *corev1.Event, maxQueued),
		limiter: rate.NewLimiter(perSecond, burst)}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	r.running.Go(func() { r.run(ctx) })
	return r
}

// Close stops the Recorder. Events that are still queued are lost and not counted.
func (r *Recorder) Close() {
	r.cancel()
	r.running.Wait()
}

// Dropped returns how many events were dropped so far, because the queue was full or the API server rejected them.
func (r *Recorder) Dropped() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dropped
}

// Launched records which attempt of which shard a pod runs, and why it was launched.
func (r *Recorder) Launched(p kubernetes.Pod, t wire.Task) {
	r.add(p, corev1.EventTypeNormal, "Launched",
		fmt.Sprintf("attempt %d of item %d of job %s, %s, placed on node %s (execution %s)",
			t.Attempt, t.Item, t.JobName, launchReason(t), p.Node, t.ExecutionID))
}

// launchReason says in the words of an event why an attempt was launched.
func launchReason(t wire.Task) string {
	switch {
	case t.Daemon != nil:
		return "a daemon"
	case t.Source == "TRIGGER":
		return "triggered by a request"
	case t.Source == "MISFIRE":
		return "for missed fires"
	case t.Source == "FAILOVER":
		return "replacing a lost attempt"
	}
	return "fired by its cron"
}

// Killed records why a pod's end was requested.
func (r *Recorder) Killed(p kubernetes.Pod, why string) {
	text := "its end was requested"
	if why != "" {
		text += ": " + why
	}
	r.add(p, corev1.EventTypeNormal, "Killed", text)
}

// GivenUp records why the scheduler gave up a pod.
func (r *Recorder) GivenUp(p kubernetes.Pod, why string) {
	r.add(p, corev1.EventTypeWarning, "GivenUp", "given up and deleted: "+why)
}

// add queues an event, or drops it if the queue is full.
func (r *Recorder) add(p kubernetes.Pod, kind, reason, message string) {
	now := metav1.Now()
	e := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, GenerateName: p.Name[:min(len(p.Name), 200)] + "."},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: p.Namespace, Name: p.Name,
			UID: p.UID},
		Type: kind, Reason: reason, Message: strings.ToValidUTF8(message[:min(len(message), maxMessage)], ""),
		Source: corev1.EventSource{Component: pod.Scheduler}, FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}
	select {
	case r.queue <- e:
	default:
		r.countDropped(fmt.Errorf("more than %d events are queued", maxQueued))
	}
}

func (r *Recorder) run(ctx context.Context) {
	for {
		select {
		case e := <-r.queue:
			if r.limiter.Wait(ctx) != nil {
				return
			}
			if err := r.write(ctx, e); err != nil && ctx.Err() == nil {
				r.countDropped(err)
			}
		case <-ctx.Done():
			return
		}
	}
}

func (r *Recorder) write(ctx context.Context, e *corev1.Event) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return r.core.Post().Namespace(e.Namespace).Resource("events").Body(e).MaxRetries(1).Do(ctx).Error()
}

// countDropped counts a dropped event, and logs it unless it has logged another one within logInterval.
func (r *Recorder) countDropped(why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropped++
	if time.Since(r.lastLogged) >= logInterval {
		r.lastLogged = time.Now()
		r.log.Warn("pod events dropped", "total", r.dropped, "error", why)
	}
}
