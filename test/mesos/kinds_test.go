//go:build !nightly

package mesos_test

import "github.com/elasticjob-go/elasticjob/test/internal/system"

// kinds are the clusters that tests run on. What cluster/local does is tested by test/whole, too.
var kinds = []system.Kind{system.Real}
