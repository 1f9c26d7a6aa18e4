// Command resident is a resident process that writes, in each run, how many nanoseconds after its fire time it
// began.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

func main() {
	in, out := os.NewFile(3, "executor"), os.NewFile(4, "executor")
	_, _ = fmt.Fprintln(out, `{"type":"hello","version":1,"sdk":"resident"}`)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		now := time.Now()
		var run struct {
			Type, Run string
			FireTime  time.Time
		}
		if err := json.Unmarshal(lines.Bytes(), &run); err != nil || run.Type != "run" {
			continue
		}
		fmt.Println(now.Sub(run.FireTime).Nanoseconds())
		_, _ = fmt.Fprintf(out, `{"type":"done","run":%q}`+"\n", run.Run)
	}
}
