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

// canHide is the command can-hide, which a server runs at its start to test whether executors can hide files from
// tasks. It starts the command again with the files hidden, and prints an error if that fails. The second process has
// no files to hide in its environment, and ends at once.
func canHide() int {
	text, isSet := os.LookupEnv(executor.HideVariable)
	if !isSet {
		return 0
	}
	var places isolation.Places
	err := json.Unmarshal([]byte(text), &places)
	if err == nil {
		places.Probe = true
		cmd := exec.Command(supervisorCommand[0], "can-hide")
		cmd.Env, cmd.Stderr = []string{}, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{}
		if err = places.Start(cmd.SysProcAttr, &cmd.Env, cmd.Start); err == nil {
			err = cmd.Wait()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "executor can-hide:", err)
		return 1
	}
	return 0
}
