package master

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/cluster/local/link"
)

func TestRefusedCallsAreAnsweredAsMesosDoes(t *testing.T) {
	t.Parallel()
	w := start(t)
	f := w.subscribed("")
	id := fmt.Sprintf(`"framework_id":{"value":%q}`, f.id)
	jsonHeaders := func(more ...string) map[string]string {
		h := map[string]string{"Content-Type": "application/json"}
		for i := 0; i < len(more); i += 2 {
			h[more[i]] = more[i+1]
		}
		return h
	}
	inStream := jsonHeaders("Mesos-Stream-Id", f.stream)
	const validate, incomplete = "Failed to validate scheduler::Call: ",
		"Expecting 'type', and what belongs to it, to be present"
	for name, tt := range map[string]struct {
		method, body string
		headers      map[string]string
		status       int
		text         string
	}{
		"no body":                          {"POST", "", jsonHeaders(), 400, "Failed to parse body into Call protobuf: "},
		"missing type":                     {"POST", `{}`, jsonHeaders(), 400, validate + incomplete},
		"wrong content type":               {"POST", `{}`, map[string]string{"Content-Type": "text/plain"}, 415, "Expecting 'Content-Type' of application/json or application/x-protobuf"},
		"no content type":                  {"POST", `{}`, nil, 415, "Expecting 'Content-Type' of application/json or application/x-protobuf"},
		"subscribe without framework_info": {"POST", `{"type":"SUBSCRIBE"}`, jsonHeaders(), 400, validate + incomplete},
		"never subscribed":                 {"POST", `{"type":"DECLINE","framework_id":{"value":"x"},"decline":{"offer_ids":[]}}`, jsonHeaders("Mesos-Stream-Id", "x"), 400, "Framework cannot be found"},
		"GET":                              {"GET", "", nil, 405, "Method Not Allowed"},
		"no Mesos-Stream-Id":               {"POST", `{"type":"REVIVE",` + id + `}`, jsonHeaders(), 400, "All non-subscribe calls should include the 'Mesos-Stream-Id' header"},
		"wrong Mesos-Stream-Id":            {"POST", `{"type":"REVIVE",` + id + `}`, jsonHeaders("Mesos-Stream-Id", "abc"), 400, "The stream ID 'abc' included in this request didn't match the stream ID currently associated with framework ID " + f.id},
		"missing framework_id":             {"POST", `{"type":"REVIVE"}`, inStream, 400, validate + "Expecting 'framework_id' to be present"},
		"accept without accept message":    {"POST", `{"type":"ACCEPT",` + id + `}`, inStream, 400, validate + incomplete},
		"uuid too short":                   {"POST", `{"type":"ACKNOWLEDGE",` + id + `,"acknowledge":{"agent_id":{"value":"a"},"task_id":{"value":"t"},"uuid":"YWJj"}}`, inStream, 400, validate + "Not a valid UUID"},
		"two framework ids":                {"POST", `{"type":"SUBSCRIBE",` + id + `,"subscribe":{"framework_info":{"user":"root","name":"x","id":{"value":"other"}}}}`, jsonHeaders(), 400, validate + "'framework_id' differs from 'subscribe.framework_info.id'"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := w.do(tt.method, tt.body, tt.headers); got.Status != tt.status ||
				!strings.HasPrefix(got.Body, tt.text) {
				t.Errorf("%+v, want %d %s", got, tt.status, tt.text)
			}
		})
	}
}

func TestCallsThatChangeNothingAreAccepted(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.agent(link.Registration{})
	f := w.subscribed("")
	f.offer()
	for _, tt := range []struct{ kind, body string }{
		{"DECLINE", `"decline":{"offer_ids":[{"value":"no-such-offer"}]}`},
		{"ACKNOWLEDGE", `"acknowledge":{"agent_id":{"value":"x"},"task_id":{"value":"t"},"uuid":"AAAAAAAAAAAAAAAAAAAAAA=="}`},
		{"SUPPRESS", ""},
		{"REVIVE", ""},
		{"SHUTDOWN", `"shutdown":{"executor_id":{"value":"e"},"agent_id":{"value":"no-such-agent"}}`},
	} {
		f.call(tt.kind, tt.body)
	}
	if got := f.post("REQUEST", `"request":{"requests":[]}`); got.Status != http.StatusNotImplemented {
		t.Errorf("a call that is not here: %+v", got)
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, path := range []string{"/health", "/master/health"} {
		response, err := w.client.Get(w.url + path)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("%s: %d, %v", path, response.StatusCode, err)
		}
	}
}
