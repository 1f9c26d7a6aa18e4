// Package platform opens the cluster that jobs run on, as the settings name it: Mesos, Kubernetes, or this machine's
// own.
package platform

import (
	"github.com/elasticjob-go/elasticjob/api/logs"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/local"
	"github.com/elasticjob-go/elasticjob/internal/document"
)

// Platform is where jobs run, as a server uses it.
type Platform struct {
	Driver cluster.Driver
	Output logs.Files
	// Framework is who the server says that it is.
	Framework cluster.Framework
	// ExecutorBinary is where executors are fetched from, and Artifact finds the file if this server is asked for it;
	// where images have the executor there are neither.
	ExecutorBinary string
	Artifact       func(name string) (file string, ok bool)
	// PodTemplate has all that is wrong with an app's podTemplate; nil where tasks have no pods.
	PodTemplate func(template []byte) document.Violations
	// Image is what jobs run in where they run in images, unless their app names another one.
	Image string
	// Throttled is how many requests of this server a Kubernetes has put off; nil elsewhere.
	Throttled func() int64
	// Machine is this machine's cluster, nil without --local.
	Machine *local.Cluster
	// Close gives back what it holds.
	Close func() error
}
