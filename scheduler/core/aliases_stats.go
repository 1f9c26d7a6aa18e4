package core

import "github.com/elasticjob-go/elasticjob/scheduler/core/stats"

type Histogram = stats.Histogram
type JobStats = stats.JobStats

var NewLatencies = stats.NewLatencies
var NewSizes = stats.NewSizes
var NewStats = stats.New

type Queue = stats.Queue
type Stats = stats.Stats
