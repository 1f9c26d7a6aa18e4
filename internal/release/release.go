// Package release identifies the build of ElasticJob that a program belongs to. It writes the output of --version, and
// servers report its version.
//
// The linker sets the version and the commit in `make build` and `make dist`. Otherwise, as with a plain `go build` in
// a clone, the commit is the one that Go has stamped into the program.
package release

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Set only by the linker (-X …/release.version=…).
var (
	version = "dev"
	commit  string
)

// Version returns the version of this build from git: a tag, or a tag with later commits. It is "dev" if the linker
// did not set it.
func Version() string { return version }

// Text returns the output of --version for a program: its name and version on the first line, then the commit, Go's
// version and the platform, one per line.
func Text(program string) string {
	info, _ := debug.ReadBuildInfo()
	return fmt.Sprintf("%s %s\ncommit %s\n%s\n%s/%s\n", program, version, commitOf(commit, info), runtime.Version(),
		runtime.GOOS, runtime.GOARCH)
}

// commitOf returns the linker's commit or, if that is "", the commit that Go has stamped into the program. It marks a
// stamped commit if files were modified.
func commitOf(linked string, info *debug.BuildInfo) string {
	stamped := map[string]string{}
	if info != nil {
		for _, s := range info.Settings {
			stamped[s.Key] = s.Value
		}
	}
	switch {
	case linked != "":
		return linked
	case stamped["vcs.revision"] == "":
		return "unknown"
	case stamped["vcs.modified"] == "true":
		return stamped["vcs.revision"] + "-dirty"
	}
	return stamped["vcs.revision"]
}
