package mesos_test

import (
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	mesosapi "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/mesos"
)

// Each rejection by a master is explained, with the flag to check. The master's texts are those of Mesos.
func TestRefusalsSayWhatToDo(t *testing.T) {
	t.Parallel()
	given := &mesos.Credentials{User: "ejc", Secret: "hunter2"}
	page := "<!DOCTYPE html>\n<html><head><style>p { color: red }</style></head><body class=\"a\">" +
		strings.Repeat("<p>It &amp; that\nworks!</p>", 1000) + "</body></html>"
	html := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, page)
		}
	}
	inJSON := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, tt := range map[string]struct {
		subscribe   http.HandlerFunc
		event       string // an ERROR event in place of SUBSCRIBED
		credentials *mesos.Credentials
		status      int // of the *cluster.Refused; 0: none
		noMaster    bool
		words       []string
	}{
		"requires credentials": {
			subscribe: respond(401, ""), status: 401, words: []string{"requires credentials", "--mesos-credentials-file"},
		},
		"wrong credentials": {
			subscribe: respond(401, ""), credentials: given, status: 401,
			words: []string{`"ejc"`, "--mesos-credentials-file"},
		},
		"forbidden": {
			subscribe: respond(403, ""), credentials: given, status: 403,
			words: []string{`"ejc"`, "--mesos-role", "--acls"},
		},
		"another principal": {
			subscribe: respond(400, "Failed to validate scheduler::Call: Authenticated principal 'x' does not match principal 'ejc' set in `FrameworkInfo`"),
			status:    400, words: []string{"does not match", "--mesos-principal"},
		},
		"the framework's principal changes": {
			event: "Changing framework's principal is not allowed.", credentials: given, status: 403,
			words: []string{`"ejc"`, "former principal", "--mesos-credentials-file", "tear", "/master/teardown"},
		},
		"role by ACL": {
			event: "Not authorized to use roles '{ batch }'", status: 403,
			words: []string{"Not authorized", "--mesos-role", `"batch"`, "--acls"},
		},
		"role unknown": {
			event: "Role 'batch' is not present in the master's --roles", status: 403, words: []string{"--mesos-role"},
		},
		"user root": {
			event: "User 'root' is not allowed to run frameworks without --root_submissions set", status: 403,
			words: []string{"--mesos-user"},
		},
		"another web server":   {subscribe: html(404), status: 404, noMaster: true, words: []string{"not a Mesos master", "--mesos"}},
		"a page that says yes": {subscribe: html(200), noMaster: true, words: []string{"not a Mesos master"}},
		"a page that says no":  {subscribe: html(403), status: 403, noMaster: true, words: []string{"web page", ": It & that works! It & that works! It & that works! It & that works! It & that w… ("}},
		"another JSON API":     {subscribe: inJSON(401, `{"error":{"code":"token_missing"}}`), credentials: given, status: 401, noMaster: true, words: []string{"JSON", "--mesos"}},
		"an agent":             {subscribe: respond(404, ""), status: 404, noMaster: true, words: []string{"/api/v1/scheduler", "5051"}},
		"POST not known":       {subscribe: respond(405, ""), status: 405, noMaster: true},
		"recovering":           {subscribe: respond(503, "Master has not finished recovery"), status: 503, words: []string{"recovery"}},
		"a gateway's page":     {subscribe: html(502), words: []string{"gateway"}},
		"plain HTTP to TLS (Go)": {
			subscribe: respond(400, "Client sent an HTTP request to an HTTPS server."), status: 400,
			words: []string{"https://", "--mesos-ca-file"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, second := newMaster(t), newMaster(t)
			m.subscribe = tt.subscribe
			if tt.event != "" {
				m.first = []scheduler.Event{failed(tt.event)}
			}
			second.subscribe = respond(503, "")
			d := driver(t, mesos.Options{Masters: []string{m.url, second.url}, Credentials: tt.credentials})
			err := mustFail(t, d, tt.words...)
			if len(err.Error()) > 1200 || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %v", err)
			}
			var refused *cluster.Refused
			first := err.(interface{ Unwrap() []error }).Unwrap()[0]
			if errors.As(first, &refused) != (tt.status != 0) || tt.status != 0 && refused.Status != tt.status {
				t.Errorf("refused %+v, want status %d", refused, tt.status)
			}
			if errors.Is(first, mesos.ErrNoMaster) != tt.noMaster {
				t.Errorf("no master: %v, %v", !tt.noMaster, first)
			}
			var fe cluster.FrameworkError
			if errors.As(first, &fe) != (tt.event != "") || fe.Message != tt.event || fe.Removed || fe.FailedOver {
				t.Errorf("framework error %+v", fe)
			}
			// Every other master would answer the same, unless this server is not a master.
			asked := len(second.requests(scheduler.Call_SUBSCRIBE)) > 0
			if final := tt.status != 0 && tt.status < 500 && !tt.noMaster; asked == final {
				t.Errorf("the second master was asked: %v", asked)
			}
		})
	}
}

func TestAddressesThatAreNoMaster(t *testing.T) {
	t.Parallel()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	plain := newMaster(t)
	for address, words := range map[string][]string{
		"http://127.0.0.1:1":                                     {"refused", "is a master running there?", "look at --mesos"},
		"http://no-such-host.invalid:5050":                       {"no-such-host.invalid", "look at the name in --mesos"},
		"http://" + speaker(t, ""):                               {"zk://", "https://"}, // ZooKeeper answers so
		"http://" + speaker(t, "SSH-2.0-OpenSSH_9.2\r\n"):        {"does not speak HTTP"},
		"http://" + speaker(t, "\x15\x03\x01\x00\x02\x02\x46\n"): {"https://"},
		"http" + strings.TrimPrefix(secure.URL, "https"):         {"https://", "--mesos-ca-file"},
		secure.URL: {"--mesos-ca-file", "certificate"},
		"https" + strings.TrimPrefix(plain.url, "http"): {"does not speak TLS", "http://"},
	} {
		t.Log(mustFail(t, driver(t, mesos.Options{Masters: []string{address}}), words...))
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	secure := httptest.NewTLSServer(m)
	t.Cleanup(secure.Close)
	config, err := mesos.LoadTLS(mesos.TLSFiles{CA: writeCA(t, secure)})
	if err != nil {
		t.Fatal(err)
	}
	given := &mesos.Credentials{User: "ejc", Secret: "hunter2"}
	s := open(t, driver(t, mesos.Options{Masters: []string{secure.URL}, TLS: config, Credentials: given}))
	if err := s.RequestOffers(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := m.requests(scheduler.Call_REVIVE); len(got) != 1 || got[0].header.Get("Authorization") == "" {
		t.Errorf("the master got %v", got)
	}
	// With TLS the agents speak TLS as well, whatever scheme the offer has.
	m.send(offerFrom("http", "10.0.0.1", "agent.example"), offerFrom("https", "10.0.0.1", ""))
	for _, want := range []string{"https://agent.example:5051", "https://10.0.0.1:5051"} {
		if got, ok := next(t, s).(cluster.Offers); !ok || got.Offers[0].AgentURL != want {
			t.Errorf("got %v, want an agent at %s", got, want)
		}
	}
}

func TestFilesOverTLS(t *testing.T) {
	t.Parallel()
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, secret, _ := r.BasicAuth(); user != "ejc" || secret != "hunter2" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `{"data":"hello","offset":0}`)
	}))
	t.Cleanup(secure.Close)
	config, err := mesos.LoadTLS(mesos.TLSFiles{CA: writeCA(t, secure)})
	if err != nil {
		t.Fatal(err)
	}
	given := &mesos.Credentials{User: "ejc", Secret: "hunter2"}
	f := newFiles(t, mesos.Options{TLS: config, Credentials: given})
	if data, err := f.Read(t.Context(), secure.URL, stdout, 0, 10); err != nil || string(data) != "hello" {
		t.Errorf("read %q, %v", data, err)
	}
	var refused *cluster.Refused
	_, err = newFiles(t, mesos.Options{TLS: config}).Read(t.Context(), secure.URL, stdout, 0, 10)
	if !errors.As(err, &refused) || refused.Status != http.StatusUnauthorized {
		t.Errorf("without credentials: %v", err)
	}
	if _, err := newFiles(t, mesos.Options{Credentials: given}).Read(t.Context(), secure.URL, stdout, 0,
		10); err == nil {
		t.Error("an unknown CA was trusted")
	}
}

func writeCA(t *testing.T, server *httptest.Server) string {
	t.Helper()
	file := t.TempDir() + "/ca.pem"
	if err := os.WriteFile(file, pemOf(server.Certificate().Raw), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func pemOf(certificate []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
}

func offerFrom(scheme, ip, hostname string) scheduler.Event {
	address := mesosapi.Address{IP: &ip, Port: 5051}
	if hostname != "" {
		address.Hostname = &hostname
	}
	return scheduler.Event{Type: scheduler.Event_OFFERS, Offers: &scheduler.Event_Offers{Offers: []mesosapi.Offer{{
		ID: mesosapi.OfferID{Value: "o1"}, URL: &mesosapi.URL{Scheme: scheme, Address: address},
	}}}}
}
