# The two to begin with: make run, make demo. All of them: make help.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)

# What the linker sets; --version prints it.
RELEASE := github.com/elasticjob-go/elasticjob/internal/release

# For which platforms make dist builds. The client alone is built for others than Linux.
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64

# What everything is compiled with, here and by test/checks, so that it is compiled once. nomsgpack leaves a codec out of gin that
# nothing uses and that takes half a minute to compile.
export GOFLAGS += -trimpath -tags=nomsgpack

# What make fuzz does: so long for every fuzz target.
FUZZTIME ?= 60s

# How many worlds make sim plays, and after which seed.
SEEDS ?= 2000
AFTER ?= 0

# Which phases make test, make ci and make nightly run: all, or those of ONLY, separated by commas.
ONLY  ?=
CHECKS = CGO_ENABLED=0 $(GO) run ./test/checks $(if $(ONLY),-only $(ONLY))

# How many rows make bench searches. Ten million take some 25 GB of /tmp and, on two cores, 15 minutes to be made.
HISTORY_ROWS ?= 10000000

# What make soak does: for so long, with so seeded choices (0: others each time), on
# mesos (the one of MESOS_HOME), local-cluster (cluster/local as processes) or local (one server with --local).
DURATION ?= 10m
SEED     ?= 0
ON       ?= mesos

# Tests on a real Mesos need one.
HAVE_MESOS := test -n "$${MESOS_HOME-}" -a "$${MESOS_HOME-}" != none
NO_MESOS   := set MESOS_HOME to the folder of a Mesos, with bin, libexec and webui

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: build ## start the server on this machine, with nothing else needed (ARGS="--listen …" adds flags)
	@exec bin/scheduler --local $(ARGS)

.PHONY: demo
demo: build ## start a server, publish an example, and watch it run (ARGS="--data-dir …" adds flags)
	@CGO_ENABLED=0 $(GO) build -o bin/demo ./examples/demo
	@exec bin/demo $(ARGS)

.PHONY: build
build: ## put the programs into bin/
	@test -e bin/scheduler || echo "The first build fetches and compiles everything that is used: it takes some minutes. Later ones take seconds." >&2
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -ldflags '-s -w -X $(RELEASE).version=$(VERSION) -X $(RELEASE).commit=$(COMMIT)' -o bin/ ./cmd/...

.PHONY: test
test: ## what to run while something is changed: lint, all tests without whole systems, 100 worlds, README's quick start
	@tools/prepare test
	@$(CHECKS) test

.PHONY: ci
ci: prepare ## make test, then the programs on real systems; ONLY=mesos for one phase, ONLY=? lists them
	@$(if $(filter ?,$(ONLY)),CGO_ENABLED=0 $(GO) run ./test/checks -list ci,$(CHECKS) ci)

.PHONY: nightly
nightly: ## everything, for hours; goes on where it ended; ONLY=storm-mesos for one phase, ONLY=? lists them, FRESH=1 begins anew
	@tools/prepare nightly
	@$(if $(filter ?,$(ONLY)),CGO_ENABLED=0 $(GO) run ./test/checks -list nightly,$(CHECKS) $(if $(FRESH),-fresh) nightly)

.PHONY: soak
soak: prepare ## kill and freeze everything at random for DURATION (10m), ON=mesos, local-cluster or local; SEED=n repeats its choices
	@if [ "$(ON)" = mesos ] && ! $(HAVE_MESOS); then echo "$(NO_MESOS)" >&2; exit 1; fi
	$(GO) test -tags soak,nomsgpack -v -count=1 -timeout 0 ./test/soak -soak.on=$(ON) -soak.seed=$(SEED) -soak.duration=$(DURATION)

.PHONY: lint
lint: ## gofmt, go vet, staticcheck; of the console its types, and that the libraries in it are those of their packages
	@CGO_ENABLED=0 $(GO) run ./test/checks -only vet,staticcheck,console-lint test

.PHONY: sim
sim: ## play SEEDS (2000) simulated worlds after the seed AFTER (0)
	CGO_ENABLED=0 $(GO) test -timeout 0 -v ./scheduler/sim -run 'Worlds$$' -sim.seeds $(SEEDS) -sim.after $(AFTER)

.PHONY: bench
bench: prepare build ## run the benchmarks, those of the history with HISTORY_ROWS (10000000), then measure the whole system (some 25 minutes)
	$(GO) test -run '^$$' -bench . -benchmem ./...
	$(GO) test -run '^$$' -bench BenchmarkReads -timeout 0 ./history/database -history.rows $(HISTORY_ROWS)
	$(GO) run ./test/bench

.PHONY: docs
docs: ## write the parts of docs/ that are made from the code
	$(GO) test -count=1 -p 1 -run '^TestReference' ./internal/reason ./api ./cmd/scheduler/commands ./cmd/executor -docs

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

.PHONY: sdk-java
sdk-java: ## build the SDK for Java, with a JDK 17 or later, into bin/elasticjob-sdk.jar
	@sdk/java/build.sh bin/elasticjob-sdk.jar

.PHONY: prepare
prepare: # what the tests need beside Go
	@tools/prepare

.PHONY: clean
clean: ## remove what was built
	rm -rf bin dist
