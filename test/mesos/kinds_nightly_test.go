//go:build nightly

package mesos_test

import "github.com/elasticjob-go/elasticjob/test/internal/system"

// kinds are the clusters that the tests run on.
var kinds = []system.Kind{system.Real, system.Local}
