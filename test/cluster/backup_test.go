package cluster_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestBackupAndRestore: a namespace that was lost is brought back from a backup that was taken while a server led, and what ran all
// the time is found again and ends as it should.
func TestBackupAndRestore(t *testing.T) {
	c := start(t, 1)
	hold, release := c.Hold()
	c.App("app", writes, nil)
	c.Job("long", "app", system.Doc{"env": env("HOLD", hold)})
	id := c.Trigger("long")
	task := c.AwaitShards(id, "RUNNING").Shards[0].TaskID
	typed := func(input []byte, args ...string) (out []byte, said string, err error) {
		cmd := exec.Command(bin.Scheduler(), append(args, "--zk", c.ZK)...)
		var stderr bytes.Buffer
		cmd.Stdin, cmd.Stderr, cmd.Dir = bytes.NewReader(input), &stderr, c.Dir
		cmd.Env = []string{"HOME=" + filepath.Join(c.Dir, "home")}
		out, err = cmd.Output()
		return out, stderr.String(), err
	}
	backup, said, err := typed(nil, "backup")
	if err != nil || !strings.Contains(said, "keys and secrets") {
		t.Fatalf("scheduler backup: %v\n%s", err, said)
	}
	if _, said, err := typed(backup, "restore"); err == nil || !strings.Contains(said, "there is something already") {
		t.Errorf("restored over what is there: %v\n%s", err, said)
	}
	c.StopServer(1)
	c.RemoveNode("")
	for _, damaged := range []struct {
		input []byte
		want  string
	}{
		{nil, "has no backup"},
		{[]byte("{}\n"), "has no backup"},
		{backup[:len(backup)/2], "damaged after"},
		{backup[:bytes.LastIndexByte(bytes.TrimSpace(backup), '\n')+1], "cut off"},
		{bytes.Replace(backup, []byte(`"elasticjobBackup":1`), []byte(`"elasticjobBackup":2`), 1), "format 2"},
	} {
		if _, said, err := typed(damaged.input, "restore"); err == nil || !strings.Contains(said, damaged.want) {
			t.Errorf("a damaged backup, want %q: %v\n%s", damaged.want, err, said)
		}
	}
	if _, said, err := typed(backup, "restore"); err != nil {
		t.Fatalf("scheduler restore: %v\n%s", err, said)
	}
	c.StartServer(1)
	c.AwaitLeader()
	if s := c.AwaitShards(id, "RUNNING").Shards[0]; s.TaskID != task || s.Attempt != 1 {
		t.Errorf("the run's task was %s, and is %+v", task, s)
	}
	release()
	c.Await(id, "FINISHED")
	c.Run("long", "FINISHED") // and it goes on from there
	c.OnceEach()
}
