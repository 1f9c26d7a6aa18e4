package master

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"testing"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/recordio"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"github.com/elasticjob-go/elasticjob/cluster/local/link"
)

// finishAll is an agent that finishes each task when it is launched, until its session ends.
func finishAll(session link.Session, info mesos.AgentInfo) {
	source, next := mesos.SOURCE_EXECUTOR, uint64(0)
	for {
		orders, err := session.Orders()
		if err != nil {
			return
		}
		for _, o := range orders {
			if o.Run == nil {
				continue
			}
			for _, t := range o.Run.Tasks {
				for _, state := range []mesos.TaskState{mesos.TASK_RUNNING, mesos.TASK_FINISHED} {
					next++
					uuid := binary.BigEndian.AppendUint64(make([]byte, 8, 16), next)
					_ = session.Report(link.News{Update: &link.StatusUpdate{Framework: o.Run.Framework.Of.ID.Value,
						Latest: state, Status: proto(mesos.TaskStatus{
							TaskID: t.Of.TaskID, State: &state, Source: &source, UUID: uuid, AgentID: info.ID,
							ExecutorID: &t.Of.Executor.ExecutorID,
						})}})
				}
			}
		}
	}
}

// BenchmarkLaunch is one task from ACCEPT to the last acknowledgement, with 100 tasks in a call, over loopback in
// protobuf.
func BenchmarkLaunch(b *testing.B) {
	const batch = int64(100)
	w := start(b)
	agent := newAgent("bench-S0", 1000, 1_000_000)
	session, err := w.master.Register(b.Context(), link.Registration{Agent: proto(agent.info)})
	if err != nil {
		b.Fatal(err)
	}
	go finishAll(session, agent.info)
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	stream := ""
	post := func(call *scheduler.Call) *http.Response {
		body, err := call.Marshal()
		if err != nil {
			b.Fatal(err)
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/api/v1/scheduler",
			bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/x-protobuf")
		request.Header.Set("Accept", "application/x-protobuf")
		if stream != "" {
			request.Header.Set("Mesos-Stream-Id", stream)
		}
		response, err := w.client.Do(request)
		if err != nil || response.StatusCode >= 300 {
			b.Fatal(response, err)
		}
		return response
	}
	id := &mesos.FrameworkID{Value: "bench"}
	timeout := 3600.0
	response := post(&scheduler.Call{Type: scheduler.Call_SUBSCRIBE, FrameworkID: id,
		Subscribe: &scheduler.Call_Subscribe{
			FrameworkInfo: &mesos.FrameworkInfo{User: "root", Name: "bench", ID: id, FailoverTimeout: &timeout},
		}})
	defer response.Body.Close()
	stream = response.Header.Get("Mesos-Stream-Id")
	frames := recordio.NewReader(response.Body)
	small := newAgent("", 0.1, 32).info.Resources[:2]
	command := &mesos.CommandInfo{}
	launched, done := 0, 0
	for done < b.N {
		frame, err := frames.ReadFrame()
		if err != nil {
			b.Fatal(err)
		}
		var event scheduler.Event
		if err := event.Unmarshal(frame); err != nil {
			b.Fatal(err)
		}
		switch event.Type {
		case scheduler.Event_OFFERS:
			for _, offer := range event.Offers.Offers {
				var tasks []mesos.TaskInfo
				free, _ := parse(offer.Resources)
				for range min(batch, free[cpus]/200, free[mem]/64_000) {
					task := fmt.Sprintf("task-%d", launched)
					launched++
					tasks = append(tasks, mesos.TaskInfo{
						Name: task, TaskID: mesos.TaskID{Value: task}, AgentID: offer.AgentID, Resources: small,
						Data: make([]byte, 400),
						Executor: &mesos.ExecutorInfo{Type: mesos.ExecutorInfo_CUSTOM,
							ExecutorID: mesos.ExecutorID{Value: "ex"}, Command: command, Resources: small},
					})
				}
				zero := 0.0
				answer := post(&scheduler.Call{Type: scheduler.Call_ACCEPT, FrameworkID: id,
					Accept: &scheduler.Call_Accept{
						OfferIDs: []mesos.OfferID{offer.ID}, Filters: &mesos.Filters{RefuseSeconds: &zero},
						Operations: []mesos.Offer_Operation{{Type: mesos.Offer_Operation_LAUNCH,
							Launch: &mesos.Offer_Operation_Launch{TaskInfos: tasks}}},
					}})
				_, _ = io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
			}
		case scheduler.Event_UPDATE:
			status := &event.Update.Status
			if status.UUID == nil {
				b.Fatal(status)
			}
			answer := post(&scheduler.Call{Type: scheduler.Call_ACKNOWLEDGE, FrameworkID: id,
				Acknowledge: &scheduler.Call_Acknowledge{
					AgentID: *status.AgentID, TaskID: status.TaskID, UUID: status.UUID,
				}})
			_, _ = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
			if status.GetState() == mesos.TASK_FINISHED {
				done++
			}
		}
	}
	b.ReportMetric(float64(done)/b.Elapsed().Seconds(), "tasks/s")
}

// BenchmarkRevive is a framework that declines its offer and requests it again, over loopback in JSON: two calls and
// an event.
func BenchmarkRevive(b *testing.B) {
	w := start(b)
	w.agent(link.Registration{})
	f := w.subscribed("")
	offer := f.offer()
	for b.Loop() {
		f.decline(3600, offer)
		f.call("REVIVE", "")
		offer = f.offer()
	}
}
