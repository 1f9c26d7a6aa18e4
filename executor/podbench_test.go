package executor_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// BenchmarkPod measures the whole life of a container whose job writes a line: of the job alone, and of an executor
// that runs the job without a fetch.
func BenchmarkPod(b *testing.B) {
	task := wire.Task{TaskID: "t", JobName: "job", Total: 1, Source: "TRIGGER",
		Command: []string{"/bin/echo", "begun"}}
	data, err := task.Encode()
	if err != nil {
		b.Fatal(err)
	}
	for name, command := range map[string][]string{"bare": {"/bin/echo", "begun"}, "executor": {binary, "pod"}} {
		b.Run(name, func(b *testing.B) {
			parent := b.TempDir()
			for i := 0; b.Loop(); i++ {
				dir := filepath.Join(parent, strconv.Itoa(i)) // a task can begin only once in a folder
				if err := os.Mkdir(dir, 0o755); err != nil {
					b.Fatal(err)
				}
				c := exec.Command(command[0], command[1:]...)
				c.Env = []string{"ELASTICJOB_TASK=" + string(data), "ELASTICJOB_POD_DIR=" + dir,
					"ELASTICJOB_TERMINATION_LOG=" + filepath.Join(dir, "message")}
				out, err := c.StdoutPipe()
				if err == nil {
					err = c.Start()
				}
				if err != nil {
					b.Fatal(err)
				}
				if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
					b.Fatal(err)
				}
				if err := c.Wait(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
