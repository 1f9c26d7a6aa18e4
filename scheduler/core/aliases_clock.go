package core

import "github.com/elasticjob-go/elasticjob/scheduler/core/clock"

type Now = clock.Now
