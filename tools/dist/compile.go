package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

const (
	module = "github.com/elasticjob-go/elasticjob"
	// versioned is the folder of the package whose variables version and commit are set by the linker. The linker
	// silently ignores unknown names, so a test checks that they exist.
	versioned = "internal/release"
)

// compile builds programs into a folder. The result depends neither on the location of the sources nor on the
// environment of the build, except for the version of Go.
func (r release) compile(into, system, arch string, programs []string) error {
	build, err := r.platformCommand(programs, system, arch,
		"build", "-trimpath", "-buildvcs=false", "-o", into+string(filepath.Separator), "-ldflags",
		fmt.Sprintf("-s -w -X %[1]s.version=%[2]s -X %[1]s.commit=%[3]s", module+"/"+versioned, r.version, r.commit))
	if err != nil {
		return err
	}
	build.Stdout = os.Stderr
	return build.Run()
}

// platformCommand returns a go command that operates on programs of a platform.
func (r release) platformCommand(programs []string, system, arch string, args ...string) (*exec.Cmd, error) {
	args = append(args, "-tags=nomsgpack")
	for _, program := range programs {
		args = append(args, "./cmd/"+program)
	}
	cmd, err := r.command(args...)
	if err != nil {
		return nil, err
	}
	cmd.Env = append(cmd.Env, "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0")
	return cmd, nil
}

// fetching are the settings of go that determine where modules come from and are stored. They do not affect the
// result of a build.
var fetching = []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOPRIVATE", "GONOPROXY", "GOSUMDB", "GONOSUMDB",
	"GOINSECURE"}

// command returns a go command in the repository. Of the user's settings of go, in the environment, in go env -w or in
// a workspace, only those in fetching apply.
func (r release) command(args ...string) (*exec.Cmd, error) {
	kept, err := exec.Command("go", append([]string{"env"}, fetching...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("ask go where modules come from: %w", err)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = r.root, os.Stderr
	ofGo := func(variable string) bool {
		return strings.HasPrefix(variable, "GO") || strings.HasPrefix(variable, "CGO_")
	}
	cmd.Env = append(slices.DeleteFunc(os.Environ(), ofGo), "GOENV=off", "GOFLAGS=-mod=readonly", "GOWORK=off",
		"GOEXPERIMENT=", "GOFIPS140=off")
	for i, value := range strings.Split(strings.TrimSuffix(string(kept), "\n"), "\n") {
		cmd.Env = append(cmd.Env, fetching[i]+"="+value)
	}
	return cmd, nil
}

// linkedModule is a Go module that is linked into a program.
type linkedModule struct{ path, version string }

// linkedModules returns the modules in any of the programs, sorted, and Go's standard library as "std".
func linkedModules(bin string, programs []string) ([]linkedModule, error) {
	var found []linkedModule
	for _, program := range programs {
		info, err := buildinfo.ReadFile(filepath.Join(bin, program))
		if err != nil {
			return nil, fmt.Errorf("read what is in %s: %w", program, err)
		}
		found = append(found, linkedModule{"std", strings.TrimPrefix(info.GoVersion, "go")})
		for _, m := range info.Deps {
			found = append(found, effective(m))
		}
	}
	slices.SortFunc(found, func(a, b linkedModule) int { return strings.Compare(a.path, b.path) })
	return slices.Compact(found), nil
}

// effective returns the module that was linked, which may replace the required one.
func effective(m *debug.Module) linkedModule {
	if m.Replace != nil {
		m = m.Replace
	}
	return linkedModule{m.Path, m.Version}
}
