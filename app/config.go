// Package app says what an app is: a package that the cluster's agents fetch,
// the script that starts it, and the CPU and memory that its executor takes.
//
// The package holds the fields of an app's document with the original's names and
// defaults, and their checks: every violation is reported at once, with field, value and rule.
// Package document reads them.
package app

import (
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// Config is one app's document. Names and defaults are the original's (contract
// 1.3); fields marked "added" are not among them. The tags are all that says how the
// document is read: see document.Schema.
type Config struct {
	// AppName is the unique name, by the pattern of CheckName.
	AppName string `json:"appName"`
	// AppURL is where the package is fetched from: http or https; file too on one machine.
	AppURL string `json:"appURL"`
	// BootstrapScript is the command that runs one shard, split as a POSIX
	// shell splits words, with nothing expanded.
	BootstrapScript string `json:"bootstrapScript"`
	// CPUCount is the CPU of the app's executor, once per agent. Default 1.
	CPUCount float64 `json:"cpuCount" default:"1"`
	// MemoryMB is the memory of the app's executor, once per agent. Default 128.
	MemoryMB float64 `json:"memoryMB" default:"128"`
	// AppCacheEnable keeps the package on the agent between tasks. Default true.
	AppCacheEnable bool `json:"appCacheEnable" default:"true"`
	// EventTraceSamplingCount thins the history of daemon jobs; 0 records all.
	EventTraceSamplingCount int `json:"eventTraceSamplingCount"`
	// AppSHA256 (added) is the package's checksum in hex, or empty.
	AppSHA256 string `json:"appSHA256,omitempty"`
	// Image (added), on a cluster that runs each task in a container of its own, is the image that it runs; empty for
	// the scheduler's own. An app with an image needs no package.
	Image string `json:"image,omitempty"`
	// ImagePullPolicy (added) says when the image is pulled: Always, IfNotPresent or Never; the cluster's own rule
	// when empty.
	ImagePullPolicy string `json:"imagePullPolicy,omitempty"`
	// ImagePullSecrets (added) are the names of the cluster's secrets with which images are pulled.
	ImagePullSecrets document.List `json:"imagePullSecrets,omitempty"`
	// PodTemplate (added) is what else the tasks' pods are to have, in Kubernetes' own words.
	PodTemplate document.Object `json:"podTemplate,omitempty"`
}

// Schema reads and writes an app's document. What it reads still has to pass Check.
var Schema = document.MustSchema[Config]("appName", nil)

// Default returns a document with the defaults of the original (contract 1.3).
func Default() Config { return Schema.Default() }

// Resources is what the app's executor takes on an agent.
func (c Config) Resources() resources.Amount { return resources.New(c.CPUCount, c.MemoryMB) }
