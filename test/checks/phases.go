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

// tier is a purpose of the checks.
type tier string

const (
	test    tier = "test"    // during development
	ci      tier = "ci"      // before a change is merged
	nightly tier = "nightly" // everything, however long it takes
)

var tiers = []tier{test, ci, nightly}

// phase is a part of a tier that is reported as one line.
type phase struct {
	name, about string
	needs       []string      // phases that must have passed
	after       []string      // phases that must have ended, because they compile what this one needs
	waits       bool          // it mostly waits for processes, so that other phases may run beside it
	alone       bool          // no other phase may run beside it
	root        bool          // only root can run it
	missing     func() string // says which requirement is missing; nil if there are none
	steps       []step
}

// step is a command of a phase.
type step struct {
	args []string
	test *goTest // instead of args
	env  []string
}

// command returns the command line of the step.
func (s step) command() []string {
	if s.test != nil {
		return slices.Concat(s.test.command(), []string{"-json"}, s.test.packages, s.test.args)
	}
	return s.args
}

// systems are the packages whose tests start whole systems. Each is in a phase of its own or with similar ones.
var systems = []string{
	"examples/demo", "test/cluster", "test/commandline", "test/commands", "test/console", "test/deploy", "test/dist",
	"test/examples", "test/history", "test/images", "test/kubernetes", "test/kubernetesserver", "test/mesos",
	"test/mesosserver", "test/monitoring", "test/soak", "test/whole",
}

// forking is a package that is tested before others. Its tests fork without limit, so that on a busy machine
// thousands of processes may be waiting to be reaped. The kernel counts the processes of a user, and would reject new
// ones of other tests.
const forking = "executor/supervisor"

// raced are the packages that CI tests with the race detector, and only with it: those that start goroutines. "/..."
// includes the packages below. The detector finds nothing in other packages.
var raced = []string{
	"api/...", "auth/...", "client", "cluster/...", "executor", "executor/agent", "executor/container",
	"executor/httpcall", "executor/output", "executor/pack", "executor/pipe", "executor/tasks", "executor/workdir", forking,
	"history/outbox",
	"history", "notify", "registry/...", "scheduler", "scheduler/view", "sdk", "internal/zookeeper",
}

// isRaced reports whether a package, as ./folder, is one of raced.
func isRaced(pkg string) bool {
	folder := strings.TrimPrefix(pkg, "./")
	return slices.ContainsFunc(raced, func(pattern string) bool {
		above, below := strings.CutSuffix(pattern, "/...")
		return folder == above || below && strings.HasPrefix(folder, above+"/")
	})
}

// conformance is the folder of a separate module, whose tests need no whole system.
const conformance = "test/conformance"

// users are the packages that test the interfaces for users other than the API and the console.
var users = []string{"./test/commandline", "./test/examples", "./test/history", "./test/monitoring", "./test/deploy"}

// mesosAsRoot are the tests on Mesos whose agents limit memory, run executors as other users or have networks of
// their own, which needs root.
const mesosAsRoot = "^(TestReasons|TestRunAs|TestPartitions)$/^(over_the_memory_limit|mesos)$"

// settings determine the phases of a tier.
type settings struct {
	tier tier
	root string
	seed uint64 // the seed of nightly's worlds; 0 for one that depends on the date
}

// phases returns the phases of a tier in the order in which they start.
func (s settings) phases() ([]phase, error) {
	switch s.tier {
	case nightly:
		return s.nightly()
	}
	unit, err := s.unit()
	if err != nil {
		return nil, err
	}
	if s.tier == test {
		return quick("all tests that need no whole system", unit), nil
	}
	pure := slices.DeleteFunc(slices.Clone(unit), isRaced)
	unit = slices.DeleteFunc(unit, func(pkg string) bool { return !isRaced(pkg) })
	return s.more(quick("tests of packages without goroutines", pure), unit)
}

func shell(command string, env ...string) step {
	return step{args: []string{"bash", "-euo", "pipefail", "-c", command}, env: env}
}

func tests(g goTest) step { return step{test: &g} }

// allTags are all build tags, so that vet examines every file.
const allTags = "nomsgpack,soak,nightly"

func vet() phase {
	return phase{name: "vet", about: "gofmt and go vet", steps: []step{
		shell(`unformatted=$(gofmt -l .)
test -z "$unformatted" || { echo "gofmt -w would change:"; echo "$unformatted"; exit 1; }`),
		shell("for folder in . "+conformance+"; do go -C $folder vet -trimpath -tags "+allTags+" ./...; done",
			"CGO_ENABLED=0"),
	}}
}

func staticcheck() phase {
	return phase{name: "staticcheck", about: "staticcheck", steps: []step{
		shell(`staticcheck=$(go tool -modfile=tools/go.mod -n staticcheck)
for folder in . `+conformance+`; do (cd $folder && "$staticcheck" -tags `+allTags+` ./...); done`, "CGO_ENABLED=0"),
	}}
}

func consoleLint() phase {
	return phase{
		name: "console-lint", about: "the console's types, and that its libraries are those of web/package.json",
		waits: true,
		steps: []step{shell(`if [ ! -e web/node_modules ]; then
  echo "web/node_modules is missing: run tools/prepare test" >&2
  exit 1
fi
cd web && npm run --silent check`)},
	}
}

// programs builds the programs that the tests of systems start.
func programs(folder, flags, cgo string) step {
	const all = "./cmd/scheduler ./cmd/executor ./cmd/elasticjob ./examples/demo"
	// A program that has not changed keeps its modification time, so that the go command can reuse results of tests
	// that ran it.
	return shell(fmt.Sprintf(`mkdir -p bin/%[1]s bin/new
go build -trimpath -buildvcs=false -tags %[3]s %[2]s -o bin/new/ %[4]s
for p in bin/new/*; do cmp -s "$p" "bin/%[1]s/${p##*/}" || mv "$p" bin/%[1]s/; done
rm -rf bin/new`, folder, flags, tags, all), "CGO_ENABLED="+cgo)
}

// raceStatic builds with the race detector, which needs C, but statically, because executors are put into images
// without a C library.
const raceStatic = `-race -tags ` + tags + `,netgo,osusergo -ldflags '-linkmode=external -extldflags=-static'`

// unit lists the packages that need no whole system, without scheduler/sim, which has a phase of its own.
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
		if folder != "scheduler/sim" && !slices.Contains(systems, folder) {
			list = append(list, "./"+folder)
		}
	}
	return list, nil
}

// inTurn tests the packages of g, starting with those that fork without limit.
func inTurn(g goTest) (steps []step) {
	others := slices.DeleteFunc(slices.Clone(g.packages), func(pkg string) bool { return pkg == "./"+forking })
	if len(others) < len(g.packages) {
		first := g
		first.packages = []string{"./" + forking}
		steps = append(steps, tests(first))
	}
	g.packages = others
	return append(steps, tests(g))
}

// quick lists the phases of make test, with the tests of packages that need no whole system.
func quick(about string, unit []string) []phase {
	const documents = "^TestDocuments$/^(README.md|docs)$/^mesos.md$"
	trials := goTest{packages: []string{"./test/commands"}, run: documents, cached: true}
	built := []string{"programs"}
	return []phase{
		{name: "programs", about: "build the programs", steps: []step{programs("test", "", "0")}},
		consoleLint(),
		vet(),
		{
			name: "quickstart", about: "README's quick start, a trial on Mesos and the demo, typed", waits: true,
			needs: built,
			steps: []step{tests(trials), tests(goTest{packages: []string{"./examples/demo"}, cached: true})},
		},
		{
			name: "unit", about: about, waits: true,
			needs: built, after: []string{"vet"},
			steps: append(inTurn(goTest{packages: unit, atOnce: 4, cached: true}),
				tests(goTest{packages: []string{"./..."}, in: conformance, cached: true})),
		},
		staticcheck(),
		{name: "worlds", about: "100 simulated worlds", steps: []step{
			tests(goTest{packages: []string{"./scheduler/sim"}, cached: true}),
		}},
	}
}

// onSystem is a phase of CI that starts whole systems.
func onSystem(name, about string, g goTest) phase {
	return phase{
		name: name, about: about, waits: true,
		needs: []string{"programs"}, after: []string{"vet"}, steps: []step{tests(g)},
	}
}

// more adds the other phases of CI: the packages with goroutines with the race detector, the product on real systems,
// tests that need root, and the tools of releases.
func (s settings) more(all []phase, withGoroutines []string) ([]phase, error) {
	asRoot, onKubernetes, err := s.special()
	if err != nil {
		return nil, err
	}
	kubernetes := onSystem("kubernetes", "on a real Kubernetes",
		goTest{packages: onKubernetes, run: "^TestOnKubernetes", atOnce: 1, minutes: 30})
	kubernetes.root, kubernetes.missing = true, noKubernetes
	mesos := onSystem("mesos", "on a real Mesos",
		goTest{packages: []string{"./test/mesosserver", "./test/mesos"}, atOnce: 1})
	mesos.missing = noMesos
	root := onSystem("root", "what only root can show",
		goTest{packages: asRoot, run: "^TestAsRoot", atOnce: 2, noSkip: true})
	root.root = true
	mesosRoot := onSystem("mesos-root", "on a real Mesos, what only root can show",
		goTest{packages: []string{"./test/mesos"}, run: mesosAsRoot})
	mesosRoot.root, mesosRoot.missing = true, noMesos
	return append(all,
		phase{
			name: "race", about: "tests of packages with goroutines, with the race detector",
			steps: inTurn(goTest{packages: withGoroutines, race: true, cached: true, atOnce: 3}),
		},
		kubernetes, mesos,
		onSystem("cluster", "several servers, with ZooKeeper or a database",
			goTest{packages: []string{"./test/cluster"}}),
		onSystem("console", "the console in a browser", goTest{packages: []string{"./test/console"}}),
		onSystem("whole", "a server on this machine", goTest{packages: []string{"./test/whole"}}),
		onSystem("users", "the command line, examples, history, monitoring, deployment",
			goTest{packages: users, skip: "^TestOnKubernetes", atOnce: 2}),
		root, mesosRoot,
		phase{name: "tools", about: "the tools of releases", steps: []step{
			shell("go -C tools vet ./... && go -C tools test ./...", "CGO_ENABLED=0"),
		}},
	), nil
}

// special lists the packages with tests that need root, and those with tests on a real Kubernetes.
func (s settings) special() (asRoot, onKubernetes []string, err error) {
	if asRoot, err = packagesWith(s.root, "TestAsRoot"); err != nil {
		return nil, nil, err
	}
	onKubernetes, err = packagesWith(s.root, "TestOnKubernetes")
	return asRoot, onKubernetes, err
}

// atNight returns a phase of nightly, in which go test has the whole machine. Each package must end within an hour.
func atNight(name, about string, all ...goTest) phase {
	p := phase{name: name, about: about, alone: true, needs: []string{"programs"}}
	for _, g := range all {
		g.atOnce, g.minutes = max(g.atOnce, 1), 60
		p.steps = append(p.steps, tests(g))
	}
	return p
}

// raceAtNight returns the goTest of most phases of nightly.
func raceAtNight(packages ...string) goTest {
	return goTest{packages: packages, race: true, tags: "nightly", skip: "^TestOnKubernetes"}
}

// nightly lists the phases of nightly, which test everything, with the race detector and on both clusters.
func (s settings) nightly() ([]phase, error) {
	unit, err := s.unit()
	if err != nil {
		return nil, err
	}
	asRoot, onKubernetes, err := s.special()
	if err != nil {
		return nil, err
	}
	seed := s.seed
	if seed == 0 {
		seed = uint64(time.Now().UTC().Unix()) / (24 * 60 * 60) * 10_000
	}
	storm := func(on string) phase {
		return atNight("storm-"+on, "ten minutes of faults, on "+on, goTest{
			packages: []string{"./test/soak"}, tags: "soak", args: []string{"-soak.on=" + on, "-soak.duration=10m"},
		})
	}
	forks := "./" + forking
	allUnit := raceAtNight(slices.DeleteFunc(unit, func(pkg string) bool { return pkg == forks })...)
	allUnit.atOnce = 3
	others := raceAtNight("./...")
	others.in = conformance
	worldsAbout := fmt.Sprintf("2,000 simulated worlds after seed %d, and 8 with the race detector", seed)
	worlds := atNight("worlds", worldsAbout, goTest{
		packages: []string{"./scheduler/sim"}, args: []string{"-sim.seeds", "2000", "-sim.after", fmt.Sprint(seed)},
	})
	worlds.steps = append(worlds.steps, tests(goTest{
		packages: []string{"./scheduler/sim"}, run: "Worlds$", race: true, minutes: 60,
		args: []string{"-sim.seeds", "8"},
	}))
	mesos := atNight("mesos", "on a real Mesos and on cluster/local",
		raceAtNight("./test/mesosserver", "./test/mesos"))
	root := atNight("root", "what only root can show",
		goTest{packages: asRoot, run: "^TestAsRoot", race: true, tags: "nightly", atOnce: 2, noSkip: true})
	mesosRoot := atNight("mesos-root", "on a real Mesos, what only root can show",
		goTest{packages: []string{"./test/mesos"}, run: mesosAsRoot, race: true, tags: "nightly"})
	kubernetes := atNight("kubernetes", "on a real Kubernetes",
		goTest{packages: onKubernetes, run: "^TestOnKubernetes", race: true, tags: "nightly"})
	images := atNight("images", "the Dockerfile and docker-compose.yml with podman",
		goTest{packages: []string{"./test/images"}, tags: "nightly", noSkip: true})
	stormOnMesos := storm("mesos")
	mesos.missing, mesosRoot.missing, stormOnMesos.missing = noMesos, noMesos, noMesos
	kubernetes.missing, images.missing = noKubernetes, noPodman
	root.root, mesosRoot.root, kubernetes.root, images.root = true, true, true, true
	return []phase{
		{name: "programs", about: "build the programs, with the race detector and without", steps: []step{
			programs("test", "", "0"), programs("test-race", raceStatic, "1"),
		}},
		consoleLint(), vet(), staticcheck(),
		{name: "tools", about: "the tools of releases", steps: []step{
			shell(`for check in vet "tool staticcheck" test; do go -C tools $check -tags nightly ./...; done`,
				"CGO_ENABLED=0"),
			shell("for folder in . " + conformance + " tools tools/kubectl; do go -C $folder mod tidy -diff; done"),
		}},
		atNight("forks", "tests that fork without end, with the race detector", raceAtNight(forks)),
		atNight("unit", "all other tests that need no whole system, with the race detector", allUnit, others),
		worlds,
		atNight("whole", "a server on this machine", raceAtNight("./test/whole", "./examples/demo")),
		mesos,
		atNight("cluster", "several servers, with ZooKeeper or a database", raceAtNight("./test/cluster")),
		atNight("users", "the command line, examples, history, monitoring, deployment", raceAtNight(users...)),
		atNight("console", "the console in a browser", raceAtNight("./test/console")),
		atNight("documents", "every command of every document, typed", goTest{packages: []string{"./test/commands"}}),
		atNight("releases", "the archives of two builds are the same", goTest{packages: []string{"./test/dist"}}),
		root, mesosRoot, kubernetes, images,
		storm("local"), storm("local-cluster"), stormOnMesos,
	}, nil
}

func noMesos() string { return noHome("MESOS_HOME", "Mesos", "bin, libexec and webui") }

func noKubernetes() string { return noHome("KUBERNETES_HOME", "Kubernetes", "its programs in bin") }

// noPodman returns why images cannot be built and run on this machine, or "". In CI it does not look for the programs,
// so that the tests run and fail.
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

// noHome returns why a system is not available, or "". In CI it returns "" even if the variable is not set, so that
// the tests run and fail: they must not be omitted by mistake. Only the value none omits them there.
func noHome(variable, what, with string) string {
	if home := os.Getenv(variable); home == "" && os.Getenv("CI") == "" || home == "none" {
		return fmt.Sprintf("there is no %s: set %s to the folder of one, with %s", what, variable, with)
	}
	return ""
}
