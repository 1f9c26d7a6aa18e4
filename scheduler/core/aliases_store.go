package core

import "github.com/elasticjob-go/elasticjob/scheduler/core/store"

var Paths = store.Paths
