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

const module = "github.com/elasticjob-go/elasticjob"

// compile builds programs into a folder. Neither the place of the sources nor the environment of who builds gets into them.
func (r release) compile(into, system, arch string, programs []string) error {
	args := []string{"build", "-trimpath", "-buildvcs=false", "-o", into + string(filepath.Separator), "-ldflags",
		fmt.Sprintf("-s -w -X %[1]s/release.version=%[2]s -X %[1]s/release.commit=%[3]s", module, r.version, r.commit)}
	for _, program := range programs {
		args = append(args, "./cmd/"+program)
	}
	build := exec.Command("go", args...)
	build.Dir, build.Stdout, build.Stderr = r.root, os.Stderr, os.Stderr
	build.Env = append(slices.DeleteFunc(os.Environ(), func(pair string) bool { return strings.HasPrefix(pair, "GOEXPERIMENT=") }),
		"CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch, "GOFLAGS=-mod=readonly", "GOWORK=off", "GOAMD64=v1", "GOARM64=v8.0")
	return build.Run()
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
