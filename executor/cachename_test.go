package executor_test

import (
	"fmt"
	"os"
)

// cacheName is the folder that executors of who runs the test share on an agent.
func cacheName() string {
	if me := os.Geteuid(); me != 0 {
		return fmt.Sprint("elasticjob-cache-", me)
	}
	return "elasticjob-cache"
}
