package master

import (
	"testing"

	"github.com/elasticjob-go/elasticjob/cluster/local/link"
)

// An executor's message reaches the subscribed framework in base64. A message to a disconnected framework is lost.
func TestMessagesArePassedOn(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(link.Registration{})
	f := w.subscribed("f1")
	f.next("OFFERS")
	a.message("no-such", "ex1", []byte("nobody's"))
	a.message("f1", "ex1", []byte{0, 0xff, 'x'})
	message := f.next("MESSAGE")["message"]
	if dig(message, "agent_id", "value") != a.id() || dig(message, "executor_id", "value") != "ex1" ||
		dig(message, "data") != "AP94" {
		t.Errorf("the message is %s", compact(message))
	}
	f.disconnect()
	a.message("f1", "ex1", []byte("while it is away"))
	f = w.subscribed("f1")
	f.next("OFFERS")
	a.message("f1", "ex1", []byte("later"))
	if got := dig(f.next("MESSAGE"), "message", "data"); got != "bGF0ZXI=" {
		t.Errorf("got %v, want what was said last", got)
	}
}
