package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/elasticjob-go/elasticjob/executor"
	"github.com/elasticjob-go/elasticjob/executor/isolation"
)

// canHide is what a server asks at its start: it tries to hide what executors are to hide from tasks, in a process
// that ends at once, and says why it can't be done. That process is this function, too, with nothing to hide any more.
func canHide() int {
	text, given := os.LookupEnv(executor.HideVariable)
	if !given {
		return 0
	}
	var places isolation.Places
	err := json.Unmarshal([]byte(text), &places)
	if err == nil {
		places.Try = true
		try := exec.Command(supervisorCommand[0], "can-hide")
		try.Env, try.Stderr = []string{}, os.Stderr
		try.SysProcAttr = &syscall.SysProcAttr{}
		if err = places.Start(try.SysProcAttr, &try.Env, try.Start); err == nil {
			err = try.Wait()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "executor can-hide:", err)
		return 1
	}
	return 0
}
