//go:build nightly

package images

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// servers are the services of docker-compose.yml that are schedulers, by the ports at which they are published.
var servers = map[string]string{"scheduler1": "8899", "scheduler2": "8898"}

// TestImagesAndCompose types the commands about images and Compose in docs/install.md: the images are built and run
// as their users, and a job runs on the cluster of docker-compose.yml, survives the death of the leader, and still
// exists with all of its history after the containers were removed and recreated.
func TestImagesAndCompose(t *testing.T) {
	m := newMachine(t)
	m.makeStandIns()
	m.makeDocker()
	builds := m.documented("docker buildx build ")
	up := m.documented("ELASTICJOB_COMMIT=")

	m.step("build the images", func() {
		m.do(ownNetwork, "bash", "-euxc", strings.Join(builds, "\n"))
		m.checkImages()
	})
	m.step("start the cluster", func() {
		m.do(ownNetwork, "bash", "-euxc", up[0])
		m.awaitServers()
		commit := strings.TrimSpace(m.do(ownNetwork, "git", "rev-parse", "HEAD"))
		for _, image := range []string{"elasticjob", "elasticjob-setup"} {
			said := m.do(ownNetwork, m.podman("run", "--rm", "--network", "none", "--entrypoint",
				"/opt/elasticjob/scheduler", "localhost/"+image+":dev", "--version")...)
			if !strings.Contains(said, commit) {
				t.Errorf("the image %s says its version is %q, want commit %s", image, said, commit)
			}
		}
	})
	m.step("run a job", func() {
		// All lines are typed in the same shell, because the first one sets TOKEN.
		said := m.do(ownNetwork, "bash", "-euc", strings.Join(up[1:], "\n")+"\nprintf %s \"$TOKEN\" >"+m.tokenFile())
		m.awaitFinished("after the commands wrote "+said, nil)
		m.checkMonitoring()
	})
	m.step("stop the majority of ZooKeeper", func() {
		m.do(ownNetwork, "docker", "compose", "stop", "zk2", "zk3")
		m.awaitHealth("unhealthy")
		m.do(ownNetwork, "docker", "compose", "start", "zk2", "zk3")
		m.awaitHealth("healthy")
		m.awaitServers()
	})
	m.step("kill the leading scheduler", func() {
		m.awaitFinished("after a leader was killed", m.killLeader())
	})
	var before state
	m.step("remove the containers", func() {
		// A paused job does not run again, so that the states before and after can be compared.
		m.do(ownNetwork, "sh", "-c", m.curl("-f -X POST http://127.0.0.1:8899/api/job/my_job/pause"))
		m.until("the job is idle", 2*time.Minute, func() (err error) {
			var running []json.RawMessage
			if err = m.get("/api/job/tasks/running", &running); err == nil && len(running) > 0 {
				return fmt.Errorf("these tasks run: %s", running)
			}
			if err == nil {
				before, err = m.state()
			}
			return err
		})
		m.do(ownNetwork, "docker", "compose", "down")
		if left := m.do(ownNetwork, m.podman("ps", "--all", "--quiet")...); left != "" {
			t.Errorf("docker compose down left containers: %s", left)
		}
		for volume := range strings.FieldsSeq(m.do(ownNetwork, m.podman("volume", "ls", "--quiet")...)) {
			if !strings.HasPrefix(volume, "elasticjob_") {
				t.Errorf("docker compose down left a volume that nothing names: %s", volume)
			}
		}
	})
	m.step("recreate the containers", func() {
		m.do(ownNetwork, "bash", "-euxc", up[0])
		m.awaitServers()
		m.until("nothing is lost", 2*time.Minute, func() error {
			after, err := m.state()
			if err == nil {
				err = before.missing(after)
			}
			return err
		})
		m.do(ownNetwork, "sh", "-c", m.curl("-f -X POST http://127.0.0.1:8899/api/job/my_job/resume"))
		m.awaitFinished("after the job was resumed", before.Runs)
	})
	m.step("remove everything", func() {
		m.do(ownNetwork, "docker", "compose", "down", "--volumes")
		for _, what := range []string{"ps --all", "volume ls",
			"network ls --filter label=com.docker.compose.project"} {
			args := append(strings.Fields(what), "--quiet")
			if left := m.do(ownNetwork, m.podman(args...)...); left != "" {
				t.Errorf("docker compose down --volumes left what podman %s lists: %s", what, left)
			}
		}
	})
}

// step runs a part of the test, logs how long it takes, and ends the test if that part has failed.
func (m *machine) step(what string, do func()) {
	m.Helper()
	began := time.Now()
	do()
	m.Logf("%s: %v", what, time.Since(began).Round(time.Second))
	if m.Failed() {
		m.FailNow()
	}
}

// documented returns the lines of the block of commands in docs/install.md that begins with this text.
func (m *machine) documented(begin string) []string {
	m.Helper()
	text, err := os.ReadFile(filepath.Join(root(), "docs", "install.md"))
	if err != nil {
		m.Fatal(err)
	}
	_, behind, found := strings.Cut(string(text), "```sh\n"+begin)
	block, _, closed := strings.Cut(behind, "\n```")
	if !found || !closed {
		m.Fatalf("docs/install.md has no block of commands that begins with %q", begin)
	}
	return strings.Split(begin+block, "\n")
}

// checkImages runs the image of the server, and that of tasks, whose user it checks.
func (m *machine) checkImages() {
	for _, run := range []struct {
		args []string
		want string
	}{
		{[]string{"localhost/elasticjob", "--version"}, "linux/"},
		{[]string{"--entrypoint", "/bin/sh", "localhost/elasticjob-task", "-c",
			"id -u && /opt/elasticjob/executor --version"}, "65532\n"},
	} {
		said := m.do(ownNetwork, m.podman(append([]string{"run", "--rm", "--network", "none"}, run.args...)...)...)
		if !strings.Contains(said, run.want) {
			m.Errorf("%q says %q", run.args, said)
		}
	}
}

// awaitHealth waits until the health checks of both servers report this state.
func (m *machine) awaitHealth(want string) {
	m.Helper()
	m.until("both servers are "+want, 2*time.Minute, func() error {
		for name := range servers {
			id, err := m.ask("docker", "compose", "ps", "--quiet", name)
			if err != nil {
				return err
			}
			status, err := m.ask(m.podman("inspect", "--format", "{{.State.Health.Status}}", strings.TrimSpace(id))...)
			if err != nil || strings.TrimSpace(status) != want {
				return fmt.Errorf("%s is %q (%v)", name, status, err)
			}
		}
		return nil
	})
}

// awaitServers waits until a server leads and the other is ready to take over.
func (m *machine) awaitServers() {
	m.Helper()
	m.until("a server leads, and both are ready", 4*time.Minute, func() error {
		leader, err := m.leader()
		if err == nil && leader == "" {
			err = fmt.Errorf("no server leads")
		}
		return err
	})
}

// leader returns the leading server, or "" if none leads. It fails unless both servers are ready.
func (m *machine) leader() (leader string, err error) {
	for name, port := range servers {
		said, err := m.ask("curl", "-sf", "http://127.0.0.1:"+port+"/readyz")
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		if strings.Contains(said, `"leading":true`) {
			leader = name
		}
	}
	return leader, nil
}

func (m *machine) tokenFile() string { return filepath.Join(m.dir, "token") }

// curl returns a command line with the token of docs/install.md.
func (m *machine) curl(args string) string {
	return `curl -s -H "Authorization: Bearer $(cat ` + m.tokenFile() + `)" ` + args
}

// get sends a request to a server of the cluster.
func (m *machine) get(path string, into any) error {
	said, err := m.ask("sh", "-c", m.curl("-f 'http://127.0.0.1:8899"+path+"'"))
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(said), into); err != nil {
		return fmt.Errorf("reading the answer to GET %s: %w: %s", path, err, said)
	}
	return nil
}

// finished lists the runs of the job that finished.
func (m *machine) finished() (ids []string, err error) {
	var runs []struct{ ExecutionID string }
	if err := m.get("/api/job/my_job/executions?state=FINISHED&limit=1000", &runs); err != nil {
		return nil, err
	}
	for _, run := range runs {
		ids = append(ids, run.ExecutionID)
	}
	slices.Sort(ids)
	return ids, nil
}

// awaitFinished waits until a run that is not in before has finished. when
// completes the error: it says after which event the run was awaited.
func (m *machine) awaitFinished(when string, before []string) {
	m.Helper()
	m.until("a run finishes", 3*time.Minute, func() error {
		ids, err := m.finished()
		if err == nil && !slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(before, id) }) {
			err = fmt.Errorf("no other runs than %q have finished %s", ids, when)
		}
		return err
	})
}

// killLeader kills the process of the leading server, waits until the other one leads and the killed one is running
// again, and returns the runs that have finished by then.
func (m *machine) killLeader() (finished []string) {
	killed, err := m.leader()
	if err != nil || killed == "" {
		m.Fatalf("the server that leads is %q: %v", killed, err)
	}
	id := strings.TrimSpace(m.do(ownNetwork, "docker", "compose", "ps", "--quiet", killed))
	pid := strings.TrimSpace(m.do(ownNetwork, m.podman("inspect", "--format", "{{.State.Pid}}", id)...))
	m.do(ownNetwork, "kill", "-KILL", pid)
	m.until("the other server leads, and the killed one is back", 3*time.Minute, func() error {
		leader, err := m.leader()
		if err == nil && (leader == "" || leader == killed) {
			err = fmt.Errorf("the server that leads is %q, and %s was killed", leader, killed)
		}
		if err == nil {
			finished, err = m.finished()
		}
		return err
	})
	return finished
}

// checkMonitoring waits until Prometheus reads the metrics of both servers, and Grafana answers.
func (m *machine) checkMonitoring() {
	m.Helper()
	m.until("Prometheus reads both servers", 2*time.Minute, func() error {
		said, err := m.ask("curl", "-sf", "http://127.0.0.1:9090/api/v1/query?query=sum(up)")
		if err == nil && !strings.Contains(said, `,"2"]`) {
			err = fmt.Errorf("sum(up) is %s", said)
		}
		return err
	})
	m.do(ownNetwork, "curl", "-sf", "http://127.0.0.1:3000/api/health")
}

// state is what must survive the removal of the containers.
type state struct {
	App, Job json.RawMessage
	Runs     []string // the ids of the runs that have finished
	History  []string // the tasks in the database
}

func (m *machine) state() (s state, err error) {
	if err := m.get("/api/app/my_app", &s.App); err != nil {
		return s, err
	}
	if err := m.get("/api/job/jobs/my_job", &s.Job); err != nil {
		return s, err
	}
	if s.Runs, err = m.finished(); err != nil {
		return s, err
	}
	var history struct{ Rows []struct{ TaskID string } }
	if err := m.get("/api/job/events/executions?jobName=my_job&per_page=500", &history); err != nil {
		return s, err
	}
	for _, row := range history.Rows {
		s.History = append(s.History, row.TaskID)
	}
	return s, nil
}

// missing returns an error about what differs in a later state, or is missing in it. It also fails if s has no runs or
// no history.
func (s state) missing(later state) error {
	if string(s.App) != string(later.App) || string(s.Job) != string(later.Job) {
		return fmt.Errorf("app and job are %s and %s; before: %s and %s", later.App, later.Job, s.App, s.Job)
	}
	for _, list := range []struct{ before, later []string }{{s.Runs, later.Runs}, {s.History, later.History}} {
		for _, id := range list.before {
			if !slices.Contains(list.later, id) {
				return fmt.Errorf("%s is missing in %q", id, list.later)
			}
		}
	}
	if len(s.Runs) == 0 || len(s.History) == 0 {
		return fmt.Errorf("there is nothing to be lost: runs %q, history %q", s.Runs, s.History)
	}
	return nil
}
