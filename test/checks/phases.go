package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

const module = "github.com/elasticjob-go/elasticjob"

// tier is for what the checks are run.
type tier string

const (
	test    tier = "test"    // while something is changed
	ci      tier = "ci"      // before it lands
	nightly tier = "nightly" // everything, however long it takes
)

var tiers = []tier{test, ci, nightly}

// phase is a part of a tier that is reported as one.
type phase struct {
	name, about string
	needs       []string      // phases that must have passed
	after       []string      // phases that must have ended, however: they compile what this one would compile beside them
	waits       bool          // for what it starts, most of the time: others may run beside it
	alone       bool          // nothing may run beside it
	root        bool          // only root can run it
	missing     func() string // says what it needs and is not there; nil if it needs nothing
	steps       []step
}

// step is a command of a phase.
type step struct {
	args []string
	test *goTest // instead of args
	env  []string
}

// command is what is run.
func (s step) command() []string {
	if s.test != nil {
		return slices.Concat(s.test.command(), []string{"-json"}, s.test.packages, s.test.args)
	}
	return s.args
}

// systems are the packages whose tests start whole systems of the programs; each is in a phase of its own, or of its like.
var systems = []string{
	"examples/demo", "test/cluster", "test/commandline", "test/commands", "test/console", "test/deploy", "test/dist", "test/examples",
	"test/history", "test/images", "test/kubernetes", "test/kubernetesserver", "test/mesos", "test/mesosserver", "test/monitoring",
	"test/soak", "test/whole",
}

// forking is a package that is tested before others. Its tests fork without end, so that on a busy machine thousands of processes
// may wait to be reaped. The kernel counts those of a user together, and refuses other packages' tests theirs.
const forking = "executor/supervisor"

// raced are the packages that CI tests with the race detector: those that start goroutines. Pure ones would only take longer.
var raced = []string{
	"./api/...", "./auth/...", "./client", "./cluster/...", "./executor", "./executor/pack", "./executor/pipe", "./history/outbox", "./history", "./notify", "./registry/...",
	"./scheduler", "./scheduler/view", "./sdk", "./zookeeper",
}

// settings are what the phases of a tier depend on.
type settings struct {
	tier tier
	root string
	seed uint64 // after which the worlds of nightly begin; 0 for one of this day
}

// phases lists the phases of a tier in the order in which they begin.
func (s settings) phases() ([]phase, error) {
	switch s.tier {
	case nightly:
		return s.nightly()
	case ci:
		all, err := s.quick()
		if err != nil {
			return nil, err
		}
		return s.more(all)
	}
	return s.quick()
}

func shell(command string, env ...string) step {
	return step{args: []string{"bash", "-euo", "pipefail", "-c", command}, env: env}
}

func tests(g goTest) step { return step{test: &g} }

// Lint looks at all files, whatever tags they are built with.
const allTags = "nomsgpack,soak,nightly"

func vet() phase {
	return phase{name: "vet", about: "gofmt and go vet", steps: []step{
		shell(`unformatted=$(gofmt -l .); test -z "$unformatted" || { echo "gofmt -w would change:"; echo "$unformatted"; exit 1; }`),
		{args: []string{"go", "vet", "-trimpath", "-tags", allTags, "./..."}, env: []string{"CGO_ENABLED=0"}},
	}}
}

func staticcheck() phase {
	return phase{name: "staticcheck", about: "staticcheck", steps: []step{
		shell(`"$(go tool -modfile=tools/go.mod -n staticcheck)" -tags `+allTags+` ./...`, "CGO_ENABLED=0"),
	}}
}

func consoleLint() phase {
	return phase{name: "console-lint", waits: true, about: "the console's types, and that the libraries in it are those of their packages",
		steps: []step{shell("cd web && npm run --silent check")}}
}

// programs builds what users get, which the tests of systems start.
func programs(folder, flags, cgo string) step {
	const all = "./cmd/scheduler ./cmd/executor ./cmd/elasticjob ./examples/demo"
	// A program that has not changed keeps its time, so that results of tests that ran it can be used again.
	return shell(fmt.Sprintf(`mkdir -p bin/%[1]s bin/new
go build -trimpath -buildvcs=false -tags %[3]s %[2]s -o bin/new/ %[4]s
for p in bin/new/*; do cmp -s "$p" "bin/%[1]s/${p##*/}" || mv "$p" bin/%[1]s/; done
rm -rf bin/new`, folder, flags, tags, all), "CGO_ENABLED="+cgo)
}

// unit lists the packages that need no whole system.
func (s settings) unit() ([]string, error) {
	cmd := exec.Command("go", "list", "./...")
	cmd.Dir = s.root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages: %w", err)
	}
	var list []string
	for path := range strings.FieldsSeq(string(out)) {
		folder := strings.TrimPrefix(path, module+"/")
		if folder != "scheduler/sim" && folder != forking && !slices.Contains(systems, folder) {
			list = append(list, "./"+folder)
		}
	}
	return list, nil
}

// quick is what make test runs.
func (s settings) quick() ([]phase, error) {
	unit, err := s.unit()
	if err != nil {
		return nil, err
	}
	return []phase{
		{name: "programs", about: "build the programs", steps: []step{programs("test", "", "0")}},
		consoleLint(),
		vet(),
		{name: "quickstart", about: "README's quick start, typed", waits: true, needs: []string{"programs"}, steps: []step{
			tests(goTest{packages: []string{"./test/commands"}, run: "^TestDocuments$/^README.md$", cached: true}),
			tests(goTest{packages: []string{"./examples/demo"}, cached: true}),
		}},
		{name: "unit", about: "all tests that need no whole system", waits: true, needs: []string{"programs"}, after: []string{"vet"}, steps: []step{
			tests(goTest{packages: []string{"./" + forking}, cached: true}), tests(goTest{packages: unit, atOnce: 4, cached: true}),
		}},
		staticcheck(),
		{name: "worlds", about: "100 simulated worlds", steps: []step{
			tests(goTest{packages: []string{"./scheduler/sim"}, cached: true}),
		}},
	}, nil
}

// more adds what CI runs beside make test: the product on real systems, and what only root can show.
func (s settings) more(all []phase) ([]phase, error) {
	asRoot, err := packagesWith(s.root, "TestAsRoot")
	if err != nil {
		return nil, err
	}
	onKubernetes, err := packagesWith(s.root, "TestOnKubernetes")
	if err != nil {
		return nil, err
	}
	built, vetted := []string{"programs"}, []string{"vet"}
	return append(all, []phase{
		{name: "kubernetes", about: "on a real Kubernetes", waits: true, root: true, needs: built, after: vetted, missing: noKubernetes, steps: []step{
			tests(goTest{packages: onKubernetes, run: "^TestOnKubernetes", atOnce: 1, minutes: 30})}},
		{name: "mesos", about: "on a real Mesos", waits: true, needs: built, after: vetted, missing: noMesos, steps: []step{
			tests(goTest{packages: []string{"./test/mesosserver", "./test/mesos"}, atOnce: 1})}},
		{name: "cluster", about: "several servers, with ZooKeeper or a database", waits: true, needs: built, after: vetted, steps: []step{
			tests(goTest{packages: []string{"./test/cluster"}})}},
		{name: "race", about: "tests of goroutines, with the race detector", steps: []step{
			tests(goTest{packages: []string{"./" + forking}, race: true, skip: "^TestAsRoot"}),
			tests(goTest{packages: raced, race: true, skip: "^TestAsRoot|^TestOnKubernetes", atOnce: 3})}},
		{name: "console", about: "the console in a browser", waits: true, needs: built, after: vetted, steps: []step{
			tests(goTest{packages: []string{"./test/console"}})}},
		{name: "whole", about: "a server on this machine", waits: true, needs: built, after: vetted, steps: []step{
			tests(goTest{packages: []string{"./test/whole"}})}},
		{name: "users", about: "the command line, examples, history, monitoring, deployment", waits: true, needs: built, after: vetted, steps: []step{
			tests(goTest{packages: []string{"./test/commandline", "./test/examples", "./test/history", "./test/monitoring", "./test/deploy"},
				skip: "^TestOnKubernetes", atOnce: 2})}},
		{name: "root", about: "what only root can show", root: true, waits: true, needs: built, after: vetted, steps: []step{
			tests(goTest{packages: asRoot, run: "^TestAsRoot", atOnce: 2, noSkip: true})}},
		{name: "mesos-root", about: "on a real Mesos, what only root can show", root: true, waits: true, needs: built, after: vetted, missing: noMesos, steps: []step{
			tests(goTest{packages: []string{"./test/mesos"}, run: "^(TestReasons|TestRunAs)$/^(over_the_memory_limit|mesos)$"})}},
		{name: "tools", about: "the tools of releases", steps: []step{
			shell("go -C tools vet ./... && go -C tools test ./...", "CGO_ENABLED=0"),
		}},
	}...), nil
}

// nightly is everything, with the race detector and on both clusters, in parts of at most an hour.
func (s settings) nightly() ([]phase, error) {
	unit, err := s.unit()
	if err != nil {
		return nil, err
	}
	asRoot, err := packagesWith(s.root, "TestAsRoot")
	if err != nil {
		return nil, err
	}
	onKubernetes, err := packagesWith(s.root, "TestOnKubernetes")
	if err != nil {
		return nil, err
	}
	seed := s.seed
	if seed == 0 {
		seed = uint64(time.Now().UTC().Unix()) / (24 * 60 * 60) * 10_000
	}
	built := []string{"programs"}
	whole := func(name, about string, packages ...string) phase {
		return phase{name: name, about: about, alone: true, needs: built, steps: []step{
			tests(goTest{packages: packages, race: true, tags: "nightly", skip: "^TestOnKubernetes", atOnce: 1, minutes: 60})}}
	}
	storm := func(on string, missing func() string) phase {
		return phase{name: "storm-" + on, about: "ten minutes of faults, on " + on, alone: true, needs: built, missing: missing, steps: []step{
			tests(goTest{packages: []string{"./test/soak"}, tags: "soak", minutes: 60, args: []string{"-soak.on=" + on, "-soak.duration=10m"}})}}
	}
	mesos := whole("mesos", "on a real Mesos and on cluster/local", "./test/mesosserver", "./test/mesos")
	mesos.missing = noMesos
	return []phase{
		{name: "programs", about: "build the programs, with the race detector and without", steps: []step{
			programs("test", "", "0"), programs("test-race", "-race", "1")}},
		consoleLint(), vet(), staticcheck(),
		{name: "tools", about: "the tools of releases", steps: []step{
			shell("go -C tools vet -tags nightly ./... && go -C tools tool staticcheck -tags nightly ./... && go -C tools test -tags nightly ./...", "CGO_ENABLED=0")}},
		{name: "unit", about: "all tests that need no whole system, with the race detector", steps: []step{
			tests(goTest{packages: []string{"./" + forking}, race: true, tags: "nightly"}),
			tests(goTest{packages: unit, race: true, tags: "nightly", atOnce: 3, minutes: 40})}},
		{name: "worlds", about: fmt.Sprintf("2,000 simulated worlds after seed %d, and 8 with the race detector", seed), steps: []step{
			tests(goTest{packages: []string{"./scheduler/sim"}, minutes: 60, args: []string{"-sim.seeds", "2000", "-sim.after", fmt.Sprint(seed)}}),
			tests(goTest{packages: []string{"./scheduler/sim"}, run: "Worlds$", race: true, minutes: 60, args: []string{"-sim.seeds", "8"}})}},
		whole("whole", "a server on this machine", "./test/whole", "./examples/demo"),
		mesos,
		whole("cluster", "several servers, with ZooKeeper or a database", "./test/cluster"),
		whole("users", "the command line, examples, history, monitoring, deployment",
			"./test/commandline", "./test/examples", "./test/history", "./test/monitoring", "./test/deploy"),
		whole("console", "the console in a browser", "./test/console"),
		{name: "documents", about: "every command of every document, typed", alone: true, needs: built, steps: []step{
			tests(goTest{packages: []string{"./test/commands"}, minutes: 60})}},
		{name: "releases", about: "the archives of two builds are the same", alone: true, steps: []step{
			tests(goTest{packages: []string{"./test/dist"}, minutes: 60})}},
		{name: "root", about: "what only root can show", root: true, alone: true, needs: built, steps: []step{
			tests(goTest{packages: asRoot, run: "^TestAsRoot", race: true, tags: "nightly", atOnce: 2, minutes: 20, noSkip: true})}},
		{name: "mesos-root", about: "on a real Mesos, what only root can show", root: true, alone: true, needs: built, missing: noMesos, steps: []step{
			tests(goTest{packages: []string{"./test/mesos"}, race: true, tags: "nightly",
				run: "^(TestReasons|TestRunAs)$/^(over_the_memory_limit|mesos)$"})}},
		{name: "kubernetes", about: "on a real Kubernetes", root: true, alone: true, needs: built, missing: noKubernetes, steps: []step{
			tests(goTest{packages: onKubernetes, run: "^TestOnKubernetes", race: true, tags: "nightly", atOnce: 1, minutes: 60})}},
		{name: "images", about: "the Dockerfile and docker-compose.yml with podman", root: true, alone: true, missing: noPodman,
			steps: []step{tests(goTest{packages: []string{"./test/images"}, tags: "nightly", minutes: 45, noSkip: true})}},
		storm("local", nil), storm("local-cluster", nil), storm("mesos", noMesos),
	}, nil
}

func noMesos() string { return noHome("MESOS_HOME", "Mesos", "bin, libexec and webui") }

func noKubernetes() string { return noHome("KUBERNETES_HOME", "Kubernetes", "its programs in bin") }

// noPodman is why the images are not built and run here.
func noPodman() string {
	if why := noMesos(); why != "" {
		return why
	}
	for _, program := range []string{"podman", "runc", "docker-compose", "debootstrap"} {
		if _, err := exec.LookPath(program); err != nil && os.Getenv("CI") == "" {
			return fmt.Sprintf("there is no %s: tools/prepare nightly installs it", program)
		}
	}
	return ""
}

// noHome lets tests run, and fail, where a variable is not set in CI, so that nothing is left out by mistake.
func noHome(variable, what, with string) string {
	if home := os.Getenv(variable); home == "" && os.Getenv("CI") == "" || home == "none" {
		return fmt.Sprintf("there is no %s: set %s to the folder of one, with %s", what, variable, with)
	}
	return ""
}
