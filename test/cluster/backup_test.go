package cluster_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestBackupAndRestore: a lost namespace is restored from a backup that was taken while a server led. A run that
// continued all the time is taken over by the next server and finishes.
func TestBackupAndRestore(t *testing.T) {
	c := start(t, 1)
	hold, release := c.Hold()
	c.App("app", writes, nil)
	c.Job("long", "app", system.Doc{"env": env("HOLD", hold)})
	id := c.Trigger("long")
	task := c.AwaitShards(id, "RUNNING").Shards[0].TaskID
	document, err := os.ReadFile("../../docs/upgrade.md")
	if err != nil {
		t.Fatal(err)
	}
	// runLine runs the first line of the block in the document that begins with words, with suffix appended.
	runLine := func(words, suffix string) (said string, err error) {
		line := regexp.MustCompile("(?m)^```sh\n(" + words + " .*)$").FindStringSubmatch(string(document))
		if line == nil {
			t.Fatalf("docs/upgrade.md has no block that begins with %s", words)
		}
		cmd := exec.Command("sh", "-c", strings.NewReplacer("h1:2181,h2:2181", c.ZK, " --zk-digest-file FILE",
			"").Replace(line[1])+suffix)
		cmd.Dir = c.Dir
		cmd.Env = []string{"HOME=" + filepath.Join(c.Dir, "home"),
			"PATH=" + filepath.Dir(bin.Scheduler()) + ":" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	file := filepath.Join(c.Dir, "elasticjob.backup")
	if err := os.WriteFile(file, []byte("an older one"), 0o644); err != nil {
		t.Fatal(err)
	}
	if said, err := runLine("scheduler backup", " --zk-namespace nothing"); err == nil ||
		!strings.Contains(said, "no server has led there") {
		t.Errorf("a namespace that does not exist: %v\n%s", err, said)
	}
	if kept, err := os.ReadFile(file); err != nil || string(kept) != "an older one" {
		t.Errorf("after a failed backup the file contains %q, %v; want the older backup", kept, err)
	}
	if said, err := runLine("scheduler backup", ""); err != nil || !strings.Contains(said, "keys and secrets") {
		t.Fatalf("scheduler backup: %v\n%s", err, said)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup is %v, %v: want it for its owner only", info, err)
	}
	backup, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if said, err := runLine("scheduler restore", ""); err == nil ||
		!strings.Contains(said, "the namespace is not empty") {
		t.Errorf("restored over existing data: %v\n%s", err, said)
	}
	c.StopServer(1)
	c.RemoveNode("")
	ofUser := bytes.Replace(backup, []byte(`"digest":false`), []byte(`"digest":true`), 1)
	if at := bytes.LastIndex(ofUser, []byte(`{"sha256"`)); at > 0 {
		ofUser = fmt.Appendf(ofUser[:at:at], "{\"sha256\":\"%x\"}\n", sha256.Sum256(ofUser[:at]))
	}
	for _, refused := range []struct {
		input []byte
		want  string
	}{
		{nil, "is not a backup"},
		{[]byte("{}\n"), "is not a backup"},
		{backup[:len(backup)/2], "damaged or cut off after"},
		{backup[:bytes.LastIndexByte(bytes.TrimSpace(backup), '\n')+1], "cut off"},
		{bytes.Replace(backup, []byte(`"release":"`), []byte(`"release":"v`), 1), "checksum"},
		{bytes.Replace(backup, []byte(`"elasticjobBackup":1`), []byte(`"elasticjobBackup":2`), 1), "format 2"},
		{ofUser, "or --open to allow that"},
	} {
		if err := os.WriteFile(file, refused.input, 0o600); err != nil {
			t.Fatal(err)
		}
		if said, err := runLine("scheduler restore", ""); err == nil || !strings.Contains(said, refused.want) {
			t.Errorf("a backup to be refused, want %q: %v\n%s", refused.want, err, said)
		}
	}
	if err := os.WriteFile(file, ofUser, 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := runLine("scheduler restore", " --open"); err != nil {
		t.Fatalf("scheduler restore: %v\n%s", err, said)
	}
	c.StartServer(1)
	c.AwaitLeader()
	if s := c.AwaitShards(id, "RUNNING").Shards[0]; s.TaskID != task || s.Attempt != 1 {
		t.Errorf("the run's task was %s, and is %+v", task, s)
	}
	release()
	c.Await(id, "FINISHED")
	c.Run("long", "FINISHED") // the job continues normally
	c.OnceEach()
}
