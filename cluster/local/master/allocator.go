package master

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"
)

const (
	// If both the free CPUs and the free memory of an agent are below these limits, in thousandths of a CPU and of a
	// MB, they are not offered. The limits are Mesos' MIN_CPUS and MIN_MEM.
	minCPUs, minMem = 10, 32_000
	// batchDelay is how long the allocator collects freed resources before it makes offers.
	batchDelay = 200 * time.Microsecond
	// declineFloor is the minimum time before a declined offer is repeated. Without it, a framework that declines with
	// a filter of 0 s would get the same offer in a tight loop. In Mesos the allocation interval, 1 s, prevents that.
	declineFloor = 100 * time.Millisecond
	// defaultRefuse is how long a filter lasts that names no time, maxRefuse how long any filter may last.
	defaultRefuse = 5 * time.Second
	maxRefuse     = 365 * 24 * time.Hour
)

// offer is an offer that its framework has neither accepted nor declined.
type offer struct {
	id, agentID string
	framework   *framework
	resources   resources
}

// filter prevents that a framework gets an offer of an agent's free resources until a given time, unless these exceed
// the refused ones.
type filter struct {
	refused resources
	until   time.Time
}

// wake schedules an allocation.
func (m *Master) wake() {
	select {
	case m.wakeAllocator <- struct{}{}:
	default:
	}
}

// runAllocator makes offers when resources have become free or a filter has expired, until ctx ends.
func (m *Master) runAllocator(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-m.wakeAllocator:
			select {
			case <-ctx.Done():
				return
			case <-time.After(batchDelay):
			}
		}
		m.mu.Lock()
		next := m.allocate(time.Now())
		m.mu.Unlock()
		if next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(time.Until(next))
		}
	}
}

// allocate offers the free resources of each agent to a framework whose filters allow it. It returns the first time at
// which a filter that prevented an offer expires; zero if no filter prevented any.
func (m *Master) allocate(now time.Time) time.Time {
	if m.closed {
		return time.Time{}
	}
	var next time.Time
	offers := map[*framework][]mesos.Offer{}
	candidates := make([]*framework, 0, len(m.frameworks))
	for _, f := range m.frameworks {
		if f.stream != nil && !f.suppressed {
			candidates = append(candidates, f)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(m.agents)) {
		a := m.agents[id]
		if a.disconnected || a.free().isScarce() {
			continue
		}
		rand.Shuffle(len(candidates), func(i, j int) { candidates[i], candidates[j] = candidates[j], candidates[i] })
		for _, f := range candidates {
			if until := f.filteredUntil(a, now); !until.IsZero() {
				if next.IsZero() || until.Before(next) {
					next = until
				}
				continue
			}
			offers[f] = append(offers[f], m.makeOffer(f, a))
			break // the offer contains all that is free
		}
	}
	for f, list := range offers {
		f.send(&scheduler.Event{Type: scheduler.Event_OFFERS, Offers: &scheduler.Event_Offers{Offers: list}})
	}
	return next
}

// isScarce reports whether r is too little to be offered.
func (r resources) isScarce() bool { return r[cpus] < minCPUs && r[mem] < minMem }

// filteredUntil returns until when the framework's filters hide the free resources of a; zero if they do not. It
// removes expired filters.
func (f *framework) filteredUntil(a *agent, now time.Time) time.Time {
	current := slices.DeleteFunc(f.filters[a.id], func(x filter) bool { return !x.until.After(now) })
	f.filters[a.id] = current
	var until time.Time
	for _, x := range current {
		if x.until.After(until) && x.refused.contains(a.free()) {
			until = x.until
		}
	}
	return until
}

// makeOffer makes an offer of all free resources of an agent.
func (m *Master) makeOffer(f *framework, a *agent) mesos.Offer {
	o := &offer{id: fmt.Sprintf("%s-O%d", m.id, m.nextOffer), agentID: a.id, framework: f, resources: a.free()}
	m.nextOffer++
	m.offers[o.id] = o
	a.used = a.used.plus(o.resources)

	sent := mesos.Offer{
		ID:          mesos.OfferID{Value: o.id},
		FrameworkID: mesos.FrameworkID{Value: f.id},
		AgentID:     mesos.AgentID{Value: a.id},
		Hostname:    a.info.Hostname,
		URL:         m.agentURL(&a.info),
		Resources:   o.resources.proto(),
	}
	for _, id := range slices.Sorted(maps.Keys(f.executors[a.id])) {
		sent.ExecutorIDs = append(sent.ExecutorIDs, mesos.ExecutorID{Value: id})
	}
	return sent
}

// agentURL returns the agent's URL. The agent's hostname is its IP address.
func (m *Master) agentURL(info *mesos.AgentInfo) *mesos.URL {
	path, ip, scheme := "/slave(1)", info.Hostname, "http"
	if m.opts.HTTPS {
		scheme = "https"
	}
	return &mesos.URL{Scheme: scheme, Address: mesos.Address{Hostname: &ip, IP: &ip, Port: info.GetPort()},
		Path: &path}
}

// free returns the resources that no task, executor or offer holds.
func (a *agent) free() resources { return a.total.minus(a.used) }

// free frees resources of an agent, if the agent is still registered, and wakes the allocator.
func (m *Master) free(agentID string, r resources) {
	if a := m.agents[agentID]; a != nil {
		a.used = a.used.minus(r)
		m.wake()
	}
}

// dropOffer removes an offer and frees its resources.
func (m *Master) dropOffer(o *offer) {
	m.free(o.agentID, o.resources)
	delete(m.offers, o.id)
}

// withdrawOffers removes all offers of a framework. It sends no event: the framework has disconnected, or subscribes
// again and then knows no offers.
func (m *Master) withdrawOffers(f *framework) {
	for _, o := range m.offers {
		if o.framework == f {
			m.dropOffer(o)
		}
	}
}

// decline removes the offers and hides their resources from the framework for the time of the call's filter.
func (m *Master) decline(f *framework, call *scheduler.Call_Decline) {
	refused := map[string]resources{}
	for _, id := range call.OfferIDs {
		o := m.offers[id.Value]
		if o == nil || o.framework != f {
			continue
		}
		m.dropOffer(o)
		refused[o.agentID] = refused[o.agentID].plus(o.resources)
	}
	for agentID, r := range refused {
		f.refuse(agentID, r, max(declineFloor, refuseTime(call.Filters)))
	}
}

// refuse adds a filter that hides resources of an agent from the framework for the given time. It does nothing if r or
// the time is zero.
func (f *framework) refuse(agentID string, r resources, refuseFor time.Duration) {
	if r != (resources{}) && refuseFor > 0 {
		f.filters[agentID] = append(f.filters[agentID], filter{r, time.Now().Add(refuseFor)})
	}
}

// refuseTime returns how long the filters of a call last.
func refuseTime(filters *mesos.Filters) time.Duration {
	if filters == nil || filters.RefuseSeconds == nil {
		return defaultRefuse
	}
	seconds := *filters.RefuseSeconds
	switch {
	case seconds >= maxRefuse.Seconds():
		return maxRefuse
	case seconds >= 0:
		return time.Duration(seconds * float64(time.Second))
	default: // negative or NaN
		return defaultRefuse
	}
}

// revive removes the framework's filters and its suppression, and makes offers at once.
func (m *Master) revive(f *framework) {
	f.suppressed = false
	clear(f.filters)
	m.allocate(time.Now())
}
