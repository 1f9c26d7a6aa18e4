package local

import (
	"encoding/json"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/test/zkserver"
)

// masters waits until that many are in ZooKeeper, and returns what they say, the leader first.
func masters(t *testing.T, conn *zk.Conn, want int) (names []string, told []object) {
	t.Helper()
	late := time.After(deadline)
	for {
		names, _, changed, err := conn.ChildrenW("/mesos")
		if err == nil && len(names) == want {
			slices.Sort(names)
			for _, name := range names {
				data, _, err := conn.Get("/mesos/" + name)
				if err != nil {
					t.Fatal(err)
				}
				var info object
				if err := json.Unmarshal(data, &info); err != nil {
					t.Fatal(err)
				}
				told = append(told, info)
			}
			return names, told
		}
		if err != nil {
			changed = nil
		}
		select {
		case <-changed:
		case <-time.After(50 * time.Millisecond):
		case <-late:
			t.Fatalf("%d masters in ZooKeeper, want %d: %v, %v", len(names), want, names, err)
		}
	}
}

func TestMastersElectTheirLeader(t *testing.T) {
	t.Parallel()
	server := zkserver.Start(t)
	conn := server.Client(t)
	start := func(dir string, agents int) *Cluster {
		t.Helper()
		return with(t, Options{DataDir: dir, Agents: agents, ZooKeeper: server.Address(), SessionTimeout: time.Second})
	}
	first := t.TempDir()
	a := start(first, 1)
	names, told := masters(t, conn, 1)
	port := netip.MustParseAddrPort(strings.TrimPrefix(a.MasterURL(), "http://")).Port()
	want := object{
		"address":      object{"hostname": "127.0.0.1", "ip": "127.0.0.1", "port": float64(port)},
		"capabilities": []any{object{"type": "AGENT_UPDATE"}, object{"type": "AGENT_DRAINING"}, object{"type": "QUOTA_V2"}},
		"hostname":     "127.0.0.1", "id": told[0]["id"], "ip": 16777343.0,
		"pid": "master@127.0.0.1:" + strings.TrimPrefix(a.MasterURL(), "http://127.0.0.1:"), "port": float64(port), "version": "1.12.0",
	}
	if diff := cmp.Diff(want, told[0]); diff != "" || names[0] != "json.info_0000000000" {
		t.Errorf("in ZooKeeper as %s: %s", names[0], diff)
	}
	ready(t, a)
	s := subscribe(t, a.MasterURL())
	if info := s.next("SUBSCRIBED")["subscribed"].(object)["master_info"].(object); info["id"] != told[0]["id"] {
		t.Errorf("the master is %v, in ZooKeeper %v", info["id"], told[0]["id"])
	}
	s.launch(custom(t, "one", "long"))
	s.update("one", "TASK_RUNNING")

	b := start(t.TempDir(), -1)
	defer end(t, b)
	masters(t, conn, 2)
	direct := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	ask := func() (int, string, string) {
		answer, err := direct.Post(b.MasterURL()+"/api/v1/scheduler", "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, answer.Header.Get("Location"), string(text)
	}
	if status, to, text := ask(); status != 307 || to != strings.TrimPrefix(a.MasterURL(), "http:")+"/master/api/v1/scheduler" || text != "" {
		t.Errorf("who stands by answers %d to %q %q", status, to, text)
	}

	// The leader goes; the other leads, and the first one's agent comes over when it is back.
	end(t, a)
	masters(t, conn, 1)
	for late := time.Now().Add(deadline); ; <-time.After(10 * time.Millisecond) {
		if status, _, _ := ask(); status == 400 { // an empty call, to a master
			break
		}
		if time.Now().After(late) {
			t.Fatal("the second master does not lead")
		}
	}
	s = subscribe(t, b.MasterURL())
	s.next("SUBSCRIBED")
	a = start(first, 1)
	defer endAll(t, a)
	if told := s.update("one", "TASK_RUNNING"); told["reason"] != "REASON_AGENT_REREGISTERED" {
		t.Errorf("told %v", told)
	}

	// A leader without ZooKeeper ends.
	server.Pause()
	select {
	case err := <-b.Failed():
		if !strings.Contains(err.Error(), "lost the leadership") {
			t.Error(err)
		}
	case <-time.After(deadline):
		t.Error("the master leads on, without ZooKeeper")
	}
	server.Resume()
	// Its node goes as its process does.
}
