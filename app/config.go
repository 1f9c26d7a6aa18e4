// Package app defines apps. An app is a package that the cluster's agents fetch, the script that runs one shard, and
// the CPU and memory of the app's executor.
//
// The package contains the fields of an app's document, with the original's names and defaults, and their checks. A
// check reports all violations at once, each with field, value and rule. Package document reads the documents.
package app

import (
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// Config is the document of one app. Names and defaults are the original's (contract 1.3); fields marked "added" are
// new. The tags alone define how the document is read: see document.Schema.
type Config struct {
	// AppName is the unique name, which CheckName accepts.
	AppName string `json:"appName"`
	// AppURL is the URL of the package: http or https, or file if everything runs on one machine.
	AppURL string `json:"appURL"`
	// BootstrapScript is the command that runs one shard. It is split into words like a POSIX shell command, without
	// expansion.
	BootstrapScript string `json:"bootstrapScript"`
	// CPUCount is the CPU of the app's executor, counted once per agent. Default 1.
	CPUCount float64 `json:"cpuCount" default:"1"`
	// MemoryMB is the memory of the app's executor, counted once per agent. Default 128.
	MemoryMB float64 `json:"memoryMB" default:"128"`
	// AppCacheEnable keeps the package on the agent between tasks. Default true.
	AppCacheEnable bool `json:"appCacheEnable" default:"true"`
	// EventTraceSamplingCount samples the history of daemon jobs: with N, every Nth run is recorded, and every failed
	// run. 0 records all runs.
	EventTraceSamplingCount int `json:"eventTraceSamplingCount"`
	// AppSHA256 (added) is the package's checksum in hex, or empty.
	AppSHA256 string `json:"appSHA256,omitempty"`
	// Image (added) is the image of the tasks on a cluster that runs each task in its own container; empty means the
	// scheduler's image. An app with an image needs no package.
	Image string `json:"image,omitempty"`
	// ImagePullPolicy (added) says when the image is pulled: Always, IfNotPresent or Never; empty means the cluster's
	// default.
	ImagePullPolicy string `json:"imagePullPolicy,omitempty"`
	// ImagePullSecrets (added) are the names of the cluster's secrets for pulling images.
	ImagePullSecrets document.List `json:"imagePullSecrets,omitempty"`
	// PodTemplate (added) contains further settings of the tasks' pods, in Kubernetes' format.
	PodTemplate document.Object `json:"podTemplate,omitempty"`
}

// Schema reads and writes an app's document. The result must still pass Check.
var Schema = document.MustSchema[Config]("appName", nil)

// Default returns a document with the defaults of the original (contract 1.3).
func Default() Config { return Schema.Default() }

// LeanCPUCount and LeanMemoryMB are the executor resources that the command line and the importers use by default. The
// API's defaults are those of ElasticJob-Cloud, whose executor was a JVM; three such executors fill a small machine.
const (
	LeanCPUCount = 0.1
	LeanMemoryMB = 64
)

// Resources returns the size of the app's executor on an agent.
func (c Config) Resources() resources.Amount { return resources.New(c.CPUCount, c.MemoryMB) }
