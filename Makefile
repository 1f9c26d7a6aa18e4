# The two to begin with: make run, make demo. All of them: make help.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)

# What the linker sets; --version prints it.
RELEASE := github.com/elasticjob-go/elasticjob/release

# For which platforms make dist builds. The client alone is built for others than Linux.
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64

# Tests and builds compile everything in two ways, as the tests are and as the programs are, and each takes minutes on a machine
# that has compiled nothing yet. So what looks at the code does it as the tests do, and the worlds are played as programs are built.
AS_TESTS    := -race
AS_PROGRAMS := CGO_ENABLED=0 $(GO) test -trimpath

# Tools have a go.mod of their own, so that they don't weigh on the product's.
STATICCHECK = GOFLAGS="$$($(GO) env GOFLAGS) $(AS_TESTS)" "$$($(GO) tool -modfile=tools/go.mod -n staticcheck)"

# What make fuzz does: so long for every fuzz target.
FUZZTIME ?= 60s

# How many worlds make sim plays.
SEEDS ?= 2000

# How many rows make bench searches. Ten million take some 25 GB of /tmp and, on two cores, 15 minutes to be made.
HISTORY_ROWS ?= 10000000

# What make soak does: for so long, with so seeded choices (0: others each time), on
# mesos (the one of MESOS_HOME), local-cluster (cluster/local as processes) or local (one server with --local).
DURATION ?= 10m
SEED     ?= 0
ON       ?= mesos

# Tests on a real Mesos need one; they are never left out in silence.
HAVE_MESOS := test -n "$${MESOS_HOME-}" -a "$${MESOS_HOME-}" != none
NO_MESOS   := *** NOT RUN: the tests on a real Mesos. Set MESOS_HOME to the folder of one, with bin, libexec and webui. ***

# Those on a real Kubernetes need one, and root. Their names begin with TestOnKubernetes.
HAVE_KUBERNETES := test "$$(id -u)" = 0 -a -n "$${KUBERNETES_HOME-}" -a "$${KUBERNETES_HOME-}" != none
NO_KUBERNETES   := *** NOT RUN: the tests on a real Kubernetes. As root set KUBERNETES_HOME to the folder of one, with its programs in bin. ***
ON_KUBERNETES   := $$(grep -rlE '^func TestOnKubernetes' --include='*_test.go' . | xargs -r -n 1 dirname | sort -u)

# So many worlds are played by make test, and so by CI; make sim plays more, and asks for the rarest faults, too.
WORLDS := 480

# The simulated worlds play in one goroutine each and take ten times as long with the race detector, which sees only what worlds
# share: all tests of them run without it, and so many worlds with it.
RACEDWORLDS := 8

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: build ## start the server on this machine, with nothing else needed (ARGS="--listen …" adds flags)
	@exec bin/scheduler --local $(ARGS)

.PHONY: demo
demo: build ## start a server, publish an example, and watch it run (ARGS="--data-dir …" adds flags)
	@CGO_ENABLED=0 $(GO) build -trimpath -o bin/demo ./examples/demo
	@exec bin/demo $(ARGS)

.PHONY: build
build: ## put the programs into bin/
	@test -e bin/scheduler || echo "The first build fetches and compiles everything that is used: it takes some minutes. Later ones take seconds." >&2
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w -X $(RELEASE).version=$(VERSION) -X $(RELEASE).commit=$(COMMIT)' -o bin/ ./cmd/...

# -count=1: some tests build and run the programs, which go's cache of results does not see. The tests that start the most processes
# have the machine for themselves: beside others they would be slow, not soon over.
.PHONY: test
test: prepare lint imports ## lint, then all tests with the race detector, but for those in a browser; installs gcc, ZooKeeper, MariaDB, Chromium, … if it may
	@failed=; \
	run() { echo "$$*"; "$$@" || failed=yes; }; \
	run env $(AS_PROGRAMS) -vet=off -timeout 20m ./scheduler/sim -sim.seeds $(WORLDS); \
	run $(GO) test $(AS_TESTS) -vet=off -timeout 20m ./scheduler/sim -run 'Worlds$$' -sim.seeds $(RACEDWORLDS); \
	run $(GO) test $(AS_TESTS) -vet=off -timeout 40m -count=1 $$($(GO) list ./... | grep -vE '/scheduler/sim$$|/test/(console|mesos|whole)$$'); \
	run $(GO) test $(AS_TESTS) -vet=off -timeout 40m -count=1 -p 1 ./test/mesos ./test/whole; \
	run env $(AS_PROGRAMS) -vet=off -timeout 40m -count=1 ./test/console; \
	run $(GO) -C tools test ./...; \
	if [ -n "$$failed" ]; then echo "tests have failed" >&2; exit 1; fi
	@echo "all tests have passed"
	@$(HAVE_MESOS) || echo "$(NO_MESOS)" >&2
	@$(HAVE_KUBERNETES) || echo "$(NO_KUBERNETES)" >&2

# Their names begin with TestAsRoot. Everywhere else they are skipped unless root runs them; here a skipped one is a failure.
.PHONY: test-root
test-root: ## the tests that only root can run, such as with small disks and other users
	@if [ "$$(id -u)" != 0 ]; then echo "make test-root needs root: .ci/run, started as root, runs it" >&2; exit 1; fi
	@packages=$$(grep -rlE '^func TestAsRoot' --include='*_test.go' . | xargs -n 1 dirname | sort -u); \
	out=$$(mktemp); trap 'rm -f "$$out"' EXIT; \
	$(GO) test $(AS_TESTS) -vet=off -timeout 10m -count=1 -v -run '^TestAsRoot' $$packages >"$$out" 2>&1 || { cat "$$out"; exit 1; }; \
	grep -E '^(---|ok)' "$$out"; \
	if grep -E -- '--- SKIP' "$$out"; then echo "a test for root was skipped as root" >&2; exit 1; fi
	@$(HAVE_KUBERNETES) || echo "$(NO_KUBERNETES)" >&2
	@if $(HAVE_KUBERNETES); then $(MAKE) --no-print-directory test-kubernetes; fi
	@# The agent limits memory only as root, with cgroups of version 1, and runs executors as other users.
	@if $(HAVE_MESOS); then $(GO) test $(AS_TESTS) -vet=off -timeout 10m -count=1 -v -run '^(TestReasons|TestRunAs)$$/^(over_the_memory_limit|mesos)$$' ./test/mesos | grep -E '^ *(---|ok|FAIL)|_test.go'; fi

.PHONY: test-mesos
test-mesos: prepare ## the tests on a real Mesos, that of MESOS_HOME, and the same ones on cluster/local
	@$(HAVE_MESOS) || echo "$(NO_MESOS)" >&2
	$(GO) test -race -timeout 20m -count=1 ./test/mesosserver ./test/mesos
	@$(HAVE_MESOS) || echo "$(NO_MESOS)" >&2

# It is refused where they would be skipped.
.PHONY: test-kubernetes
test-kubernetes: prepare ## as root: the tests on a real Kubernetes, that of KUBERNETES_HOME
	@if ! $(HAVE_KUBERNETES); then echo "$(NO_KUBERNETES)" >&2; exit 1; fi
	$(GO) test $(AS_TESTS) -vet=off -timeout 30m -count=1 -p 1 -run '^TestOnKubernetes' $(ON_KUBERNETES)

.PHONY: soak
soak: prepare ## kill and freeze everything at random for DURATION (10m), ON=mesos, local-cluster or local; SEED=n repeats its choices
	@if [ "$(ON)" = mesos ] && ! $(HAVE_MESOS); then echo "$(NO_MESOS)" >&2; exit 1; fi
	$(GO) test -tags soak -v -count=1 -timeout 0 ./test/soak -soak.on=$(ON) -soak.seed=$(SEED) -soak.duration=$(DURATION)

.PHONY: lint
lint: ## gofmt, go vet, staticcheck; of the console its types, and that the libraries in it are those of their packages
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then \
	  echo "not as gofmt writes it (gofmt -w does that):" >&2; echo "$$unformatted" >&2; exit 1; fi
	$(GO) vet $(AS_TESTS) ./...
	$(GO) vet $(AS_TESTS) -tags soak ./test/soak
	$(STATICCHECK) ./...
	$(STATICCHECK) -tags soak ./test/soak
	$(GO) -C tools vet ./...
	$(GO) -C tools tool staticcheck ./...
	@test -e web/node_modules || { echo "there is no web/node_modules: type tools/prepare" >&2; exit 1; }
	cd web && npm run --silent check

.PHONY: imports
imports: ## check which package imports which
	$(GO) test $(AS_TESTS) ./test/imports

.PHONY: sim
sim: ## play SEEDS (2000) simulated worlds
	$(AS_PROGRAMS) -timeout 0 ./scheduler/sim -run TestWorlds -sim.seeds $(SEEDS)

.PHONY: bench
bench: prepare build ## run the benchmarks, those of the history with HISTORY_ROWS (10000000), then measure the whole system (some 25 minutes)
	$(GO) test -run '^$$' -bench . -benchmem ./...
	$(GO) test -run '^$$' -bench BenchmarkReads -timeout 0 ./history/database -history.rows $(HISTORY_ROWS)
	$(GO) run ./test/bench

.PHONY: docs
docs: ## write the parts of docs/ that are made from the code
	$(GO) test -count=1 -run '^TestReference' ./api ./cmd/scheduler ./cmd/executor -docs

.PHONY: screenshots
screenshots: build ## take pictures of every view of the console, into docs/screenshots (VIEW=jobs: of one)
	tools/prepare screenshots
	node web/test/screenshots.js $(VIEW)

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (60s)
	@grep -rlE '^func Fuzz' --include='*_test.go' . | while read -r file; do \
	  for target in $$(sed -nE 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/p' "$$file"); do \
	    echo "$$file: $$target"; \
	    $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s "$$(dirname "$$file")"; \
	  done; done

.PHONY: dist
dist: ## build the release archives of PLATFORMS (linux and darwin, amd64 and arm64), checksums and SBOMs, into dist/
	@$(GO) -C tools run ./dist -root .. -version '$(VERSION)' -commit '$(COMMIT)' $(PLATFORMS)

.PHONY: prepare
prepare: # what the tests need beside Go
	@tools/prepare

.PHONY: clean
clean: ## remove what was built
	rm -rf bin dist
