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
	// versioned is the folder of the package whose variables version and commit a build sets. The linker takes a name
	// that is not there without a word, so a test looks for them.
	versioned = "internal/release"
)

// compile builds programs into a folder. Neither the place of the sources nor the environment of who builds gets into
// them.
func (r release) compile(into, system, arch string, programs []string) error {
	build, err := r.about(programs, system, arch,
		"build", "-trimpath", "-buildvcs=false", "-o", into+string(filepath.Separator), "-ldflags",
		fmt.Sprintf("-s -w -X %[1]s.version=%[2]s -X %[1]s.commit=%[3]s", module+"/"+versioned, r.version, r.commit))
	if err != nil {
		return err
	}
	build.Stdout = os.Stderr
	return build.Run()
}

// about is a command of go about programs of a platform.
func (r release) about(programs []string, system, arch string, args ...string) (*exec.Cmd, error) {
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

// fetching are the settings of go that say where modules are and come from, and nothing of what is built.
var fetching = []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOPRIVATE", "GONOPROXY", "GOSUMDB", "GONOSUMDB",
	"GOINSECURE"}

// command is one of go in the repository. Of the settings of who builds, in the environment, kept by go env -w or in a
// workspace, only those for fetching reach it.
func (r release) command(args ...string) (*exec.Cmd, error) {
	kept, err := exec.Command("go", append([]string{"env"}, fetching...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("ask go where modules come from: %w", err)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = r.root, os.Stderr
	cmd.Env = append(os.Environ(), "GOENV=off", "GOFLAGS=-mod=readonly", "GOWORK=off", "GOEXPERIMENT=",
		"GOFIPS140=off")
	for i, value := range strings.Split(strings.TrimSuffix(string(kept), "\n"), "\n") {
		cmd.Env = append(cmd.Env, fetching[i]+"="+value)
	}
	return cmd, nil
}

// linkedModule is a Go module that is in a program.
type linkedModule struct{ path, version string }

// linkedModules are the modules in any of the programs, sorted, and Go's standard library, "std".
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

// effective is the module that was linked in, which another one may replace.
func effective(m *debug.Module) linkedModule {
	if m.Replace != nil {
		m = m.Replace
	}
	return linkedModule{m.Path, m.Version}
}
