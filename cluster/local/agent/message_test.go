package agent

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/mesos/mesos-go/api/v1/lib/executor"
)

// say sends MESSAGE as the given executor and returns the answer.
func (b *bench) say(t *testing.T, media, id string, message *executor.Call_Message) answer {
	t.Helper()
	call := &executor.Call{Type: executor.Call_MESSAGE, Message: message}
	call.ExecutorID.Value, call.FrameworkID.Value = id, "fw-0002"
	response, err := b.post(b.marshal(t, call, media), media)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, string(text)}
}

// A message reaches the master unchanged in both encodings. While the agent has no session with the master, a message
// is accepted and dropped, as in Mesos; so is one that is larger than maxMessage, a limit that Mesos does not have.
func TestMessages(t *testing.T) {
	t.Parallel()
	b := startBench(t).ready()
	const inJSON, inProtobuf = "application/json", "application/x-protobuf"
	b.run(b.task("t1", "x", testExecutorInfo("ex1", "deaf")))
	message := &executor.Call_Message{Data: []byte("any")}
	if got := b.say(t, inJSON, "ex1", message); got != (answer{http.StatusForbidden, "Executor is not subscribed"}) {
		t.Errorf("before it subscribed: %v", got)
	}
	b.subscribe(t, inJSON, "ex1", &executor.Call_Subscribe{}).next()
	if got := b.say(t, inJSON, "ex1", nil); got != (answer{http.StatusBadRequest,
		"Failed to validate Executor::Call: Expecting 'message' to be present"}) {
		t.Errorf("without a message: %v", got)
	}
	if got := b.say(t, inJSON, "ex1", &executor.Call_Message{}); got.status != http.StatusBadRequest {
		t.Errorf("a message without data: %v", got)
	}
	if got := b.say(t, inJSON, "no-such", message); got != (answer{http.StatusBadRequest, "Executor cannot be found"}) {
		t.Errorf("of an unknown executor: %v", got)
	}
	count := 0
	arrives := func(media string, data []byte) {
		t.Helper()
		if got := b.say(t, media, "ex1",
			&executor.Call_Message{Data: data}); got != (answer{http.StatusAccepted, ""}) {
			t.Fatal(got)
		}
		count++
		got := b.master.wait(t, "a message", count, func(c report) bool { return c.kind == "message" })
		if got.id != "fw-0002/ex1" || !bytes.Equal(got.data, data) {
			t.Errorf("the master got %d bytes %.20q of %s, want %d bytes %.20q", len(got.data), got.data, got.id,
				len(data), data)
		}
	}
	// The next message that arrives shows that this one was dropped, because it would have come first.
	isDropped := func(data []byte) {
		t.Helper()
		if got := b.say(t, inProtobuf, "ex1",
			&executor.Call_Message{Data: data}); got != (answer{http.StatusAccepted, ""}) {
			t.Error(got)
		}
	}
	bytesOfAllKinds := []byte{0, '"', '\n', 0xff, 0xfe}
	arrives(inJSON, bytesOfAllKinds)
	arrives(inProtobuf, bytesOfAllKinds)
	arrives(inProtobuf, []byte{})
	arrives(inProtobuf, make([]byte, maxMessage))
	isDropped(make([]byte, maxMessage+1))

	b.master.setAway(true)
	b.master.orders.Close()
	eventually(t, "the end of the session", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return !b.inSession
	})
	isDropped([]byte("while the master is away"))
	b.master.setAway(false)
	b.master.wait(t, "the next registration", 2, func(c report) bool { return c.kind == "register" })
	eventually(t, "the next session", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.inSession
	})
	arrives(inJSON, []byte("later"))
}
