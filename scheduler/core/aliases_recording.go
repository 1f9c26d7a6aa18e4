package core

import "github.com/elasticjob-go/elasticjob/scheduler/core/recording"

var NotRestored = recording.NotRestored
