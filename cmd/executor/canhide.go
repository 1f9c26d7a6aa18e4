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

// canHide is the command can-hide, which a server runs at its start. It tests whether executors can hide files from
// tasks: it starts itself once more with the files hidden, and prints why that fails. The inner process finds nothing
// to hide in its environment and ends at once.
func canHide() int {
	text, given := os.LookupEnv(executor.HideVariable)
	if !given {
		return 0
	}
	var places isolation.Places
	err := json.Unmarshal([]byte(text), &places)
	if err == nil {
		places.Probe = true
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
