package imports

import (
	"fmt"
	"slices"
	"strings"
)

// module is the prefix of all import paths of this repository.
const module = "github.com/elasticjob-go/elasticjob"

// order is the layout from the top to the bottom: a package may only import packages below it. Subpackages count as
// their parent; between them, Go's rejection of import cycles is sufficient.
var order = []string{
	"cmd/scheduler", "cmd/executor", "cmd/elasticjob",
	"sdk", "client", "definitions",
	"api", "web",
	"auth", "notify",
	"scheduler",
	"offers", "jobs", "app",
	"cluster", "internal/document",
	"executor",
	"internal/wire",
	"internal/lease",
	"jobs/cron", // separate from jobs, because executors fire daemons
	"registry",
	"history",
	"migrations",
	"history/search", // separate from history, because the API defines queries with it
	"history/event",  // separate from history, because the core defines records with it
	"internal/mysql",
	"internal/textfile",
	"internal/properties",
	"internal/zookeeper",
	"internal/reason",
	"internal/resources",
	"internal/spelling",
	"internal/steadyclock",
	"internal/secrets",
	"internal/netproblem",
	"internal/trust",
	"internal/wholefile",
	"internal/release",
	"internal/cgroup",
}

// outside are the folders that do not belong to the product and must not be imported.
var outside = []string{"test", "examples", "tools"}

// only lists packages that may import only these packages of the repository.
var only = map[string][]string{
	"offers":               {"internal/resources", "internal/reason"},
	"internal/reason":      {},
	"jobs":                 {"jobs/cron", "app", "internal/document", "internal/lease", "internal/resources", "internal/spelling", "internal/secrets"},
	"jobs/cron":            {},
	"app":                  {"internal/document", "internal/resources", "internal/secrets"},
	"definitions":          {"jobs", "jobs/cron", "app", "internal/document", "internal/spelling", "internal/secrets", "internal/textfile", "internal/properties"},
	"internal/document":    {"internal/spelling", "internal/secrets"},
	"internal/wire":        {"internal/lease"},
	"internal/lease":       {},
	"web":                  {},
	"history/event":        {"internal/reason"},
	"history/search":       {"history/event"},
	"migrations":           {},
	"sdk":                  {}, // importing it must not add any other package to a job author's program
	"client":               {},
	"internal/zookeeper":   {},
	"internal/mysql":       {},
	"internal/textfile":    {},
	"internal/properties":  {},
	"internal/resources":   {},
	"internal/spelling":    {},
	"internal/steadyclock": {},
	"internal/secrets":     {},
	"internal/netproblem":  {},
	"internal/trust":       {},
	"internal/wholefile":   {},
	"internal/release":     {},
	"internal/cgroup":      {},
}

// assembled are the packages that only cmd/* and their own subpackages may import. Any other package must define an
// interface for what it needs from them.
var assembled = []string{
	"api", "web", "client", "sdk", "executor", "notify", "auth/oidc",
	"cluster/mesos", "cluster/local", "cluster/kubernetes",
	"registry/embedded", "registry/zookeeper", "registry/database",
	"history",
}

// closed are the packages whose subpackages must not be imported from outside.
var closed = []string{"cluster/local"}

// home says which packages, with their subpackages, may import a library.
var home = map[string][]string{
	"github.com/gin-gonic/gin":            {"api"},
	"github.com/prometheus/client_golang": {"api"},
	"github.com/swaggest/jsonschema-go":   {"api/openapi"},
	"github.com/mesos/mesos-go":           {"cluster/mesos", "cluster/local", "executor"},
	"github.com/gogo/protobuf":            {"cluster/mesos", "cluster/local", "executor"},
	"github.com/go-zookeeper/zk":          {"internal/zookeeper", "registry/zookeeper", "cluster/mesos", "cmd/elasticjob"},
	"k8s.io/client-go":                    {"cluster/kubernetes"},
	"k8s.io/apimachinery":                 {"cluster/kubernetes"},
	"k8s.io/api":                          {"cluster/kubernetes"},
	"sigs.k8s.io/yaml":                    {"cluster/kubernetes"},
	"go.etcd.io/bbolt":                    {"registry/embedded"},
	"github.com/jmoiron/sqlx":             {"history", "registry/database"},
	"github.com/go-sql-driver/mysql":      {"history", "registry/database", "internal/mysql", "cmd/elasticjob"},
	"modernc.org/sqlite":                  {"history"},
	"github.com/pressly/goose/v3":         {"history", "registry/database"},
	"github.com/spf13/cobra":              {"cmd/scheduler", "cmd/executor", "cmd/elasticjob"},
	"github.com/robfig/cron/v3":           {"jobs/cron"},
	"go.yaml.in/yaml/v3":                  {"internal/document", "definitions", "cmd/elasticjob"},
	"github.com/wneessen/go-mail":         {"notify"},
	"golang.org/x/crypto":                 {"auth"},
	"github.com/coreos/go-oidc/v3":        {"auth/oidc"},
	"golang.org/x/oauth2":                 {"auth/oidc"},
}

// testLibraries are the only modules that only tests may import. Every module that imports a package of this one also
// requires them, and they have no dependencies. A test that needs another module belongs into test/conformance, which
// is a separate module.
var testLibraries = []string{"github.com/google/go-cmp", "go.uber.org/goleak", "pgregory.net/rapid"}

// never lists what a package must not import, directly or indirectly.
var never = map[string][]string{
	"scheduler": {
		"github.com/mesos/mesos-go", "github.com/gogo/protobuf", "github.com/go-zookeeper/zk",
		"github.com/gin-gonic/gin", "github.com/jmoiron/sqlx", "go.etcd.io/bbolt", "k8s.io/api", "k8s.io/apimachinery",
		"k8s.io/client-go",
		module + "/cluster/kubernetes", module + "/cluster/mesos", module + "/cluster/local",
		module + "/registry/embedded", module + "/registry/zookeeper", module + "/registry/database",
		module + "/internal/zookeeper",
	},
	"executor": {module + "/scheduler"},
	"client":   {"github.com/gin-gonic/gin"},
}

// pure are the packages, with their subpackages, that only decide: without I/O, clocks, goroutines or logs. They must
// not import packages for these.
var pure = []string{
	"internal/reason", "scheduler/core", "scheduler/explain", "scheduler/term", "history/event", "history/search",
	"executor/daemon", "jobs/cron/cursor",
	"definitions/convert",
}

// parts is the order of the packages of the core: views are above decisions, and decisions above state. A part may
// only import parts below it, so that no decision depends on a view, and no state on a decision.
var parts = []string{
	"views", "watch", "operator", "minutes",
	"incidents",
	"attempts", "machinedrain", "placement", "fires", "daemons", "imports", "retire", "reconcile",
	"notifications", "recording", "audit",
	"tasks", "sandbox",
	"state",
	"config", "startfailures", "executions", "executors", "subscription", "orphans", "agents", "machines",
	"fencing", "leases",
	"step",
	"clock", "stats", "store", "problem",
}

var impure = []string{"context", "crypto/rand", "io/fs", "log", "log/slog", "net", "net/http", "os", "os/exec", "sync",
	"sync/atomic", "syscall"}

// pkg is go list's description of a package, without its tests.
type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string // all direct and indirect imports
}

// check returns one sentence per broken rule, naming the import and the rule.
func check(packages []pkg) []string {
	var broken []string
	byPath := make(map[string]pkg, len(packages))
	for _, p := range packages {
		byPath[p.ImportPath] = p
	}
	for _, p := range packages {
		from, ours := strings.CutPrefix(p.ImportPath, module+"/")
		if !ours || in(from, "test") {
			continue
		}
		for _, path := range p.Imports {
			if why := refuse(from, path); why != "" {
				broken = append(broken, fmt.Sprintf("%s imports %s: %s", from, strings.TrimPrefix(path, module+"/"),
					why))
			}
		}
		if packageOf(from) == "" && !isOutside(from) {
			broken = append(broken, fmt.Sprintf(
				"%s is not in the layout: give it a place in the table order of test/imports/rules.go", from))
		}
		for _, forbidden := range never[packageOf(from)] {
			for _, path := range p.Deps {
				if in(path, forbidden) {
					broken = append(broken,
						fmt.Sprintf("%s reaches %s (%s): %s must not, not even through other packages",
							from, path, strings.Join(chain(byPath, p.ImportPath, path), " → "), packageOf(from)))
					break
				}
			}
		}
	}
	slices.Sort(broken)
	return broken
}

// refuse returns why a package may not import a path, or "".
func refuse(from, path string) string {
	to, ours := strings.CutPrefix(path, module+"/")
	if !ours {
		return refuseLibrary(from, path)
	}
	source, target := packageOf(from), packageOf(to)
	switch {
	case in(from, "examples") && to == "sdk":
		return ""
	case isOutside(from):
		return "examples stand for users: they talk to the server over HTTP and import no package but sdk"
	case isOutside(to):
		return "no package may import anything below test/, examples/ or tools/"
	case slices.ContainsFunc(closed, func(whole string) bool {
		return strings.HasPrefix(to, whole+"/") &&
			!in(from, whole)
	}):
		return "its subpackages are private: import the package that they belong to"
	case source == target:
		if strings.HasSuffix(to, "test") {
			return "a suite for tests is imported by _test.go files only"
		}
		return refusePart(from, to)
	case slices.Index(order, target) < slices.Index(order, source):
		return fmt.Sprintf("imports go down the layout only, and %s stands above %s", target, source)
	}
	if allowed, few := only[source]; few && !slices.Contains(allowed, target) {
		if len(allowed) == 0 {
			return source + " imports no other package"
		}
		return fmt.Sprintf("%s imports no other package but %s", source, strings.Join(allowed, ", "))
	}
	for _, part := range assembled {
		if packageOf(part) == target && in(to, part) && !strings.HasPrefix(from, "cmd/") {
			return "only cmd/* puts packages together: use an interface and let it be passed in"
		}
	}
	if strings.HasSuffix(to, "test") {
		return "a suite for tests is imported by _test.go files only"
	}
	return ""
}

// refusePart returns why a package of the core may not import another one, or "".
func refusePart(from, to string) string {
	source, isPart := strings.CutPrefix(from, "scheduler/core/")
	target := strings.TrimPrefix(to, "scheduler/core/")
	switch {
	case !isPart:
		return ""
	case !slices.Contains(parts, source):
		return "give it a place in the table parts of test/imports/rules.go"
	case slices.Index(parts, target) < slices.Index(parts, source):
		return fmt.Sprintf("within the core imports go down only, and %s stands above %s", target, source)
	}
	return ""
}

func refuseLibrary(from, path string) string {
	if slices.Contains(impure, path) && slices.ContainsFunc(pure, func(whole string) bool { return in(from, whole) }) {
		return from + " is pure: time, randomness and what happens come in as arguments, effects go out as decisions"
	}
	for library, homes := range home {
		if in(path, library) && !slices.ContainsFunc(homes, func(h string) bool { return in(from, h) }) &&
			!isOutside(from) {
			return fmt.Sprintf("%s is used in %s only, so that its types stay there", library,
				strings.Join(homes, ", "))
		}
	}
	return ""
}

// packageOf returns the longest entry of order that includes a path, or "".
func packageOf(path string) (longest string) {
	for _, p := range order {
		if in(path, p) && len(p) > len(longest) {
			longest = p
		}
	}
	return longest
}

func isOutside(path string) bool {
	return slices.ContainsFunc(outside, func(folder string) bool { return in(path, folder) })
}

// in reports whether path is root or lies below it.
func in(path, root string) bool { return path == root || strings.HasPrefix(path, root+"/") }

// chain returns a shortest chain of imports from one package to another.
func chain(byPath map[string]pkg, from, to string) []string {
	came := map[string]string{from: ""}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if at == to {
			var way []string
			for ; at != ""; at = came[at] {
				way = append(way, strings.TrimPrefix(at, module+"/"))
			}
			slices.Reverse(way)
			return way
		}
		for _, next := range byPath[at].Imports {
			if _, seen := came[next]; !seen {
				came[next] = at
				queue = append(queue, next)
			}
		}
	}
	return []string{from, "…", to}
}
