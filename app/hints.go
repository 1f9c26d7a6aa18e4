package app

import "github.com/elasticjob-go/elasticjob/internal/document"

// NamePattern is the pattern of the names of apps and jobs, for messages and forms.
const NamePattern = `^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`

// Hints returns the additional information about an app's fields that forms and editors need.
func Hints() map[string]document.Hint {
	return map[string]document.Hint{
		"appName":                 {Required: true, MaxLength: 100, Pattern: NamePattern, Description: "The app's unique name, which never changes: letters, digits, '.', '_' and '-'."},
		"appURL":                  {Or: "image", MaxLength: MaxURLBytes, Format: "uri", Description: "Where agents fetch the package from: http or https; file too with --local. A tar (plain, gz, bz2, xz, zst), a zip, or a single script or program."},
		"bootstrapScript":         {Required: true, MaxLength: MaxCommandBytes, Description: "The command that runs one shard, such as bin/start.sh: a file of the package, or a program of the agent, with its arguments. No shell is started."},
		"cpuCount":                {Minimum: MinCPUCount, Maximum: MaxCPUCount, Description: "CPU of the app's executor, once per agent, beside what its shards take."},
		"memoryMB":                {Minimum: MinMemoryMB, Maximum: MaxMemoryMB, Description: "Memory of the app's executor in MB, once per agent, beside what its shards take."},
		"appCacheEnable":          {Description: "Keeps the package on the agents between runs."},
		"eventTraceSamplingCount": {Description: "Thins the history of daemon jobs: of so many runs one is recorded. 0 records all."},
		"appSHA256":               {MaxLength: 64, Pattern: `^([0-9A-Fa-f]{64})?$`, Description: "The package's checksum in hex, as sha256sum prints it: no other package is run. Empty: whatever the URL has."},
		"image":                   {MaxLength: MaxImageBytes, Pattern: imagePattern, Description: "On Kubernetes: the image that shards run in; the scheduler's own when empty. With one an app needs no package."},
		"imagePullPolicy":         {Enum: append([]string{""}, PullPolicies...), Description: "On Kubernetes: when the image is pulled: Always, IfNotPresent or Never. Empty: Always for the tag latest, else IfNotPresent."},
		"imagePullSecrets":        {Description: "On Kubernetes: the names of the Secrets with which images are pulled."},
		"podTemplate":             {Description: "On Kubernetes: what else the shards' pods have, metadata and spec of a PodTemplateSpec, merged as kubectl merges patches. The job's container is named shard."},
	}
}
