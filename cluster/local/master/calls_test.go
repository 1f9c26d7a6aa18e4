package master

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const recordedFramework = "000cf189-4b77-4a79-9ed1-b4a875b522e1-0000"

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
	subscribe := `{"type":"SUBSCRIBE","subscribe":{"framework_info":{"user":"root","name":"x"}}}`
	for _, tt := range []struct {
		situation, method, body string
		headers                 map[string]string
	}{
		{"no body", "POST", "", jsonHeaders()},
		{"not json", "POST", "nope", jsonHeaders()},
		{"unknown type", "POST", `{"type":"NONSENSE"}`, jsonHeaders()},
		{"missing type", "POST", `{}`, jsonHeaders()},
		{"wrong content type", "POST", `{}`, map[string]string{"Content-Type": "text/plain"}},
		{"no content type", "POST", `{}`, nil},
		{"wrong accept", "POST", subscribe, jsonHeaders("Accept", "text/html")},
		{"subscribe without framework_info", "POST", `{"type":"SUBSCRIBE"}`, jsonHeaders()},
		{"decline, never subscribed", "POST", `{"type":"DECLINE","framework_id":{"value":"x"},"decline":{"offer_ids":[]}}`, jsonHeaders("Mesos-Stream-Id", "x")},
		{"GET", "GET", "", nil},
		{"no Mesos-Stream-Id", "POST", `{"type":"REVIVE",` + id + `}`, jsonHeaders()},
		{"wrong Mesos-Stream-Id", "POST", `{"type":"REVIVE",` + id + `}`, jsonHeaders("Mesos-Stream-Id", "abc")},
		{"missing framework_id", "POST", `{"type":"REVIVE"}`, inStream},
		{"accept without accept message", "POST", `{"type":"ACCEPT",` + id + `}`, inStream},
		{"acknowledge uuid too short", "POST", `{"type":"ACKNOWLEDGE",` + id + `,"acknowledge":{"agent_id":{"value":"a"},"task_id":{"value":"t"},"uuid":"YWJj"}}`, inStream},
		{"framework_id differs from framework_info.id", "POST", `{"type":"SUBSCRIBE",` + id + `,"subscribe":{"framework_info":{"user":"root","name":"x","id":{"value":"other"}}}}`, jsonHeaders()},
	} {
		t.Run(tt.situation, func(t *testing.T) {
			want := recorded(t, "refused.json", tt.situation, recordedFramework, f.id).(map[string]any)
			got := w.do(tt.method, tt.body, tt.headers)
			headers := map[string]string{}
			for name, value := range want["headers"].(map[string]any) {
				headers[name] = value.(string)
			}
			// The length follows the framework id's.
			headers["Content-Length"] = fmt.Sprint(len(want["body"].(string)))
			if diff := cmp.Diff(answer{int(want["status"].(float64)), headers, want["body"].(string)}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCallsThatChangeNothingAreAccepted(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.agent(Recovered{})
	f := w.subscribed("")
	f.offer()
	for _, tt := range []struct{ kind, body string }{
		{"DECLINE", `"decline":{"offer_ids":[{"value":"no-such-offer"}]}`},
		{"ACKNOWLEDGE", `"acknowledge":{"agent_id":{"value":"x"},"task_id":{"value":"t"},"uuid":"AAAAAAAAAAAAAAAAAAAAAA=="}`},
		{"SUPPRESS", ""},
		{"REVIVE", ""},
		{"REQUEST", `"request":{"requests":[]}`},
		{"ACCEPT_INVERSE_OFFERS", `"accept_inverse_offers":{"inverse_offer_ids":[]}`},
		{"DECLINE_INVERSE_OFFERS", `"decline_inverse_offers":{"inverse_offer_ids":[]}`},
		{"SHUTDOWN", `"shutdown":{"executor_id":{"value":"e"},"agent_id":{"value":"no-such-agent"}}`},
		{"MESSAGE", `"message":{"executor_id":{"value":"e"},"agent_id":{"value":"no-such-agent"},"data":"aGk="}`},
	} {
		f.call(tt.kind, tt.body)
	}
	f.call("MESSAGE", fmt.Sprintf(`"message":{"executor_id":{"value":"e"},"agent_id":{"value":%q},"data":"aGk="}`, a.id()))
	a.asked(t, "message e hi")
	w.master.Message(a.id(), f.id, "e", []byte("ho"))
	if got := dig(f.next("MESSAGE"), "message", "data"); got != "aG8=" {
		t.Errorf("data %v", got)
	}
}

func TestHealthAndVersion(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, path := range []string{"/health", "/master/health", "/version"} {
		response, err := w.client.Get(w.url + path)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("%s: %d, %v", path, response.StatusCode, err)
		}
	}
}
