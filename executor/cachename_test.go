package executor_test

import (
	"fmt"
	"os"
)

// cacheName is the name of the folder that executors of the test's user share on an agent.
func cacheName() string {
	if me := os.Geteuid(); me != 0 {
		return fmt.Sprint("elasticjob-cache-", me)
	}
	return "elasticjob-cache"
}
