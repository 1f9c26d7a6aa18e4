// Package release says which build of ElasticJob a program is: what --version prints, and what a server reports of
// itself.
//
// The linker sets the version and the commit, as `make build` and `make dist` have it do. Where it did not, as with a
// plain `go build` in a clone, the commit is what Go itself has stamped into the program.
package release

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Set by the linker (-X …/release.version=…) and by nothing else.
var (
	version = "dev"
	commit  string
)

// Version is that of this build, from git: a tag, or a tag with what came after it. It is "dev" if the build was told
// none.
func Version() string { return version }

// Text is what --version prints of a program: its name and version on the first line, then the commit, Go's version
// and the platform, each on a line of its own.
func Text(program string) string {
	info, _ := debug.ReadBuildInfo()
	return fmt.Sprintf("%s %s\ncommit %s\n%s\n%s/%s\n", program, version, commitOf(commit, info), runtime.Version(),
		runtime.GOOS, runtime.GOARCH)
}

// commitOf is the commit that the linker was told, else the one that Go has stamped, marked if the files differed from
// it.
func commitOf(told string, info *debug.BuildInfo) string {
	stamped := map[string]string{}
	if info != nil {
		for _, s := range info.Settings {
			stamped[s.Key] = s.Value
		}
	}
	switch {
	case told != "":
		return told
	case stamped["vcs.revision"] == "":
		return "unknown"
	case stamped["vcs.modified"] == "true":
		return stamped["vcs.revision"] + "-dirty"
	}
	return stamped["vcs.revision"]
}
