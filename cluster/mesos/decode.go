package mesos

import (
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/lease"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// An ERROR event that contains one of these texts gets a special meaning (see cluster.FrameworkError).
const (
	frameworkRemoved  = "Framework has been removed"
	frameworkFailover = "Framework failed over"
)

// maxReport is how many bytes of an executor's message are decoded. A longer message can't be decoded and is ignored.
const maxReport = 1 << 20

// decodeEvent converts an event. It returns nil for events that the scheduler does not need: operations, event types
// newer than this code, and inverse offers. tls says whether the agents speak TLS.
//
// An inverse offer asks the framework to release an agent for maintenance. The master also rescinds the agent's offers
// and sends new ones that carry the unavailability, which is all that the scheduler needs. An inverse offer needs no
// answer: "accepting or declining an inverse offer does not result in immediate changes in the maintenance schedule,
// or in the way Mesos acts" (Mesos' docs/maintenance.md, "Draining mode").
func decodeEvent(e *scheduler.Event, tls bool) cluster.Event {
	switch {
	case e.Type == scheduler.Event_HEARTBEAT:
		return cluster.Heartbeat{}
	case e.Type == scheduler.Event_SUBSCRIBED && e.Subscribed != nil:
		return decodeSubscribed(e.Subscribed)
	case e.Type == scheduler.Event_OFFERS && e.Offers != nil:
		offers := make([]cluster.Offer, len(e.Offers.Offers))
		for i := range offers {
			offers[i] = decodeOffer(&e.Offers.Offers[i], tls)
		}
		return cluster.Offers{Offers: offers}
	case e.Type == scheduler.Event_RESCIND && e.Rescind != nil:
		return cluster.Rescind{OfferID: e.Rescind.OfferID.Value}
	case e.Type == scheduler.Event_UPDATE && e.Update != nil:
		return decodeStatus(&e.Update.Status)
	case e.Type == scheduler.Event_FAILURE && e.Failure != nil:
		f := e.Failure
		return cluster.Failure{AgentID: f.GetAgentID().GetValue(), ExecutorID: f.GetExecutorID().GetValue(),
			Status: int(f.GetStatus())}
	case e.Type == scheduler.Event_MESSAGE && e.Message != nil:
		m := e.Message
		out := cluster.Message{AgentID: m.AgentID.Value, ExecutorID: m.ExecutorID.Value}
		data := m.Data[:min(len(m.Data), maxReport)]
		if out.Heartbeat = wire.IsHeartbeat(data); out.Heartbeat {
			return out
		}
		if request, ok := lease.Unpack(data); ok {
			out.Lease = &request
			return out
		}
		if report, ok := wire.DecodeReport(data); ok {
			out.Report = &report
		}
		return out
	case e.Type == scheduler.Event_ERROR && e.Error != nil:
		message := e.Error.Message
		return cluster.FrameworkError{
			Message:    message,
			Removed:    strings.Contains(message, frameworkRemoved),
			FailedOver: strings.Contains(message, frameworkFailover),
		}
	}
	return nil
}

func decodeSubscribed(s *scheduler.Event_Subscribed) cluster.Subscribed {
	out := cluster.Subscribed{
		FrameworkID: s.GetFrameworkID().GetValue(),
		MasterID:    s.GetMasterInfo().GetID(),
		Heartbeat:   defaultHeartbeat,
	}
	if seconds := s.GetHeartbeatIntervalSeconds(); seconds > 0 && seconds < 86400 {
		out.Heartbeat = time.Duration(seconds * float64(time.Second))
	}
	return out
}

func decodeOffer(o *mesos.Offer, tls bool) cluster.Offer {
	out := cluster.Offer{
		ID:       o.ID.Value,
		AgentID:  o.AgentID.Value,
		Hostname: o.Hostname,
		AgentURL: agentURL(o.URL, tls),
	}
	out.Resources, out.Reserved = usable(o.Resources)
	for _, e := range o.ExecutorIDs {
		out.ExecutorIDs = append(out.ExecutorIDs, e.Value)
	}
	if o.Unavailability != nil {
		out.Unavailable = fromNanoseconds(&o.Unavailability.Start)
		if d := o.Unavailability.Duration; d != nil && d.Nanoseconds > 0 {
			out.AvailableAgain = out.Unavailable.Add(time.Duration(d.Nanoseconds))
		}
	}
	return out
}

// agentURL returns the base URL of an agent, or "" for an offer without a URL. The scheme in an offer is the master's
// own, and some versions send "http" regardless. With tls, which the operator configured for the whole cluster, the
// scheme is therefore always https.
func agentURL(u *mesos.URL, tls bool) string {
	if u == nil {
		return ""
	}
	scheme := u.Scheme
	if tls {
		scheme = "https"
	}
	host := preferredHost(scheme, u.Address.GetIP(), u.Address.GetHostname())
	return scheme + "://" + net.JoinHostPort(host, strconv.Itoa(int(u.Address.Port)))
}

// usable sums the resources that the framework's tasks may use and returns the part of them that is reserved. A
// reservation in an offer is always for the framework's role, because the master offers it to no other role. Revocable
// and shared resources are not counted, and neither are those in the form for frameworks with RESERVATION_REFINEMENT,
// which no master sends to this framework.
func usable(offered []mesos.Resource) (total resources.Amount, reserved []cluster.Reserved) {
	for i := range offered {
		r := &offered[i]
		if r.Scalar == nil || r.Revocable != nil || r.Shared != nil || len(r.Reservations) > 0 {
			continue
		}
		var amount resources.Amount
		milli := int64(math.Round(r.Scalar.Value * 1000))
		switch r.Name {
		case "cpus":
			amount.CPUMilli = milli
		case "mem":
			amount.MemMilli = milli
		default:
			continue
		}
		key, err := reservationKey(r)
		if err != nil {
			continue // without a key, a launch can't name the reservation
		}
		total = total.Plus(amount)
		if key != "" {
			reserved = addReserved(reserved, key, amount)
		}
	}
	slices.SortFunc(reserved, func(a, b cluster.Reserved) int { return strings.Compare(a.Key, b.Key) })
	return total, reserved
}

func decodeStatus(s *mesos.TaskStatus) cluster.Update {
	out := cluster.Update{
		TaskID:     s.TaskID.Value,
		AgentID:    s.GetAgentID().GetValue(),
		ExecutorID: s.GetExecutorID().GetValue(),
		Message:    s.GetMessage(),
		UUID:       s.UUID,
	}
	if status, ok := wire.DecodeStatus(s.Data); ok {
		out.Status = &status
	}
	// The generated getters return an enum's first value if it is not set, so the pointers are checked instead.
	if s.State != nil {
		out.State = cluster.State(strings.TrimPrefix(s.State.String(), "TASK_"))
	}
	if s.Source != nil {
		out.Source = cluster.Source(strings.TrimPrefix(s.Source.String(), "SOURCE_"))
	}
	if s.Reason != nil {
		out.Reason = cluster.Reason(strings.TrimPrefix(s.Reason.String(), "REASON_"))
	}
	if s.Timestamp != nil {
		out.Timestamp = fromSeconds(*s.Timestamp)
	}
	if s.UnreachableTime != nil {
		out.UnreachableSince = fromNanoseconds(s.UnreachableTime)
	}
	// Mesos reports the following two cases only in the text of the message.
	out.ExecutorMismatch = out.State == cluster.Error && strings.Contains(out.Message, "ExecutorInfo") &&
		strings.Contains(out.Message, "not compatible")
	if out.State == cluster.Unknown && out.Source == cluster.FromMaster &&
		strings.Contains(out.Message, unknownToAgent) {
		out.State = cluster.Gone
	}
	return out
}

// unknownToAgent is the master's message about a task that a registered agent does not have. Its state in the update is
// GONE, or UNKNOWN up to Mesos 1.4.
const unknownToAgent = "Task is unknown to the agent"

// fromSeconds converts a Unix time. It rounds it to microseconds, because a float64 is no more precise for current
// times.
func fromSeconds(s float64) time.Time {
	return time.UnixMicro(int64(math.Round(s * 1e6))).UTC()
}

func fromNanoseconds(t *mesos.TimeInfo) time.Time {
	return time.Unix(0, t.Nanoseconds).UTC()
}
