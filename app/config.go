// Package app says what an app is: a package that the cluster's agents fetch,
// the script that starts it, and the CPU and memory that its executor takes.
//
// The room holds the fields of an app's document with the original's names and
// defaults, their checks, and the reading of documents from people, which
// jobs shares: every violation is reported at once, with field, value and rule.
// It imports no other room.
package app

// Config is one app's document. Names and defaults are the original's; fields
// marked "ours" are additions.
type Config struct {
	// AppName is the unique name, by the pattern of CheckName.
	AppName string `json:"appName"`
	// AppURL is where the package is fetched from: http or https; file too on one machine.
	AppURL string `json:"appURL"`
	// BootstrapScript is the command that runs one shard, split as a POSIX
	// shell splits words, with nothing expanded.
	BootstrapScript string `json:"bootstrapScript"`
	// CPUCount is the CPU of the app's executor, once per agent. Default 1.
	CPUCount float64 `json:"cpuCount"`
	// MemoryMB is the memory of the app's executor, once per agent. Default 128.
	MemoryMB float64 `json:"memoryMB"`
	// AppCacheEnable keeps the package on the agent between tasks. Default true.
	AppCacheEnable bool `json:"appCacheEnable"`
	// EventTraceSamplingCount thins the history of daemon jobs; 0 records all.
	EventTraceSamplingCount int `json:"eventTraceSamplingCount"`
	// AppSHA256 (ours) is the package's checksum in hex, or empty.
	AppSHA256 string `json:"appSHA256,omitempty"`
}

// Default returns a document with the defaults of the original (contract 1.3).
func Default() Config {
	return Config{CPUCount: 1, MemoryMB: 128, AppCacheEnable: true}
}

// Resources is what the app's executor takes on an agent.
func (c Config) Resources() Resources { return NewResources(c.CPUCount, c.MemoryMB) }
