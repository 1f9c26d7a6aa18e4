// Package platform opens the cluster in the settings: Mesos, Kubernetes, or a cluster on this machine.
package platform

import (
	"github.com/elasticjob-go/elasticjob/api/logs"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/local"
	"github.com/elasticjob-go/elasticjob/internal/document"
)

// Platform is the cluster that jobs run on.
type Platform struct {
	Driver cluster.Driver
	Output logs.Files
	// Framework describes this server to the cluster.
	Framework cluster.Framework
	// ExecutorBinary is the URL from which agents fetch the executor. Artifact returns the path of an executor with
	// this name. Both are zero on Kubernetes, because images contain the executor.
	ExecutorBinary string
	Artifact       func(name string) (file string, ok bool)
	// PodTemplate returns all violations in the podTemplate of an app. It is nil on clusters without pods.
	PodTemplate func(template []byte) document.Violations
	// Image is the default image of apps, on a cluster whose jobs run in images.
	Image string
	// Throttled returns how many requests of this server the Kubernetes API server has throttled (status 429). It is
	// nil for other clusters.
	Throttled func() int64
	// Machine is the cluster of this machine; nil without --local.
	Machine *local.Cluster
	// Close closes the clients, and with --local the cluster.
	Close func() error
}
