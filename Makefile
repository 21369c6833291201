# What people run. Needs Go; a JDK 17 and Maven for the tests on DynamoDB Local, Python 3 for the template and one test. `make help` explains.

SHELL := /bin/bash
.DEFAULT_GOAL := help

CACHE   := $(or $(IDEMDDB_CACHE),$(HOME)/.cache/go-idemddb)
LOCAL   := localstack/dynamodb-local.sh
ENGINE  ?= memory
TIME    ?= 10s
BENCH   ?= .
COUNT   ?= 1

# The tests add to the file how many changes they had judged. There must be at least so many in all, and some from each of these packages.
AUDIT   := $(abspath .audit.jsonl)
AUDITED := -least 200000 $(AUDIT) idemddb operate outbox contract audited lambdawrap functions api payments ledger relay

# What make mutants runs: in two tests each mutant of a condition runs the contract or many histories.
MUTANTS := TestEveryMutationOfAnExpressionIsNoticed|TestARuleFindsTheLackOfEachTermOfACondition

# How tests run. Three packages at a time, because some wait for DynamoDB Local or for real time. go vet is a part of make lint; debuggers need
# the tables that -s leaves out, stack traces do not.
TESTING := -p=3 -shuffle=on -count=1 -timeout=10m -vet=off -ldflags=-s

# The packages whose tests wait most for DynamoDB Local and for real time, and would be the last: they begin first.
WAITING := ./internal/checks/histories ./cmd/idem

# The packages whose goroutines meet. Their tests run again with the race detector, which makes them ten times as slow: those of -short do,
# and without DynamoDB Local, which runs the same code of ours. make test runs those of idemddb, of lambdawrap and of what they stand on, and
# make race those of the other packages, whose dependencies take minutes to compile.
RACED      := ./internal/contract ./lambdawrap ./idemddb ./idemddb/idemddbtest ./idemddb/operate ./internal/engine ./internal/delivery
ALSO_RACED := ./internal/checks/histories ./internal/checks/audited ./idemddb/audit ./idemddb/outbox ./idemddb/results ./functions/payments/... \
  ./functions/relay ./idemotel ./localstack/demo ./bench/hot ./bench/loopback ./bench/handwritten

# Modules of their own, whose dependencies users of the library do not get.
MODULES := cmd/idem cmd/idemlint idemotel internal/checks/histories

# The programs of the pages, which ./... leaves out.
PROGRAMS := $(patsubst %/main.go,./%,$(wildcard functions/testdata/*/main.go functions/testdata/*/*/main.go))

# An awk program that prints the lines of Go files, each with its place, but for the outputs of examples, whose width their programs decide.
WITHOUT_OUTPUTS := FNR == 1 || !/^[ \t]*\/\// {out = 0} /^[ \t]*\/\/ (Unordered output|Output):/ {out = 1} !out {print FILENAME ":" FNR ":" $$0}

GOLANGCI_VERSION := 2.15.0
GOLANGCI         := $(CACHE)/bin/golangci-lint-$(GOLANGCI_VERSION)

BENCHSTAT_VERSION := v0.0.0-20260908200009-22c9c6c9d4da
BENCHSTAT         := $(CACHE)/bin/benchstat-$(BENCHSTAT_VERSION)

ACTIONLINT_VERSION := v1.7.12
ACTIONLINT         := $(CACHE)/bin/actionlint-$(ACTIONLINT_VERSION)

CYCLONEDX_VERSION := v1.10.0
CYCLONEDX         := $(CACHE)/bin/cyclonedx-gomod-$(CYCLONEDX_VERSION)

# The virtual environments are named after what is in them, so that a new version is a new one. The two files list every package.
PYTHON_TOOLS := $(CACHE)/python-$(shell cksum < .ci/requirements.txt | cut -d' ' -f1)
CHECKOV      := $(CACHE)/checkov-$(shell cksum < .ci/requirements-checkov.txt | cut -d' ' -f1)

# What the consumers of make compare need that are not written in Go.
CONSUMERS := bench/compare/workers
COMPARED  := $(CACHE)/compare-$(shell cat $(CONSUMERS)/requirements.txt $(CONSUMERS)/package-lock.json | cksum | cut -d' ' -f1)

QUICKSTART := functions/testdata/quickstart/template.yaml

export SAM_CLI_TELEMETRY := 0
export AWS_DEFAULT_REGION ?= us-east-1

.PHONY: help
help: ## Explain these targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## / {printf "make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: test
test: ## Every test, on the in-memory engine and on DynamoDB Local (fetched once, about 50 MB; DYNAMODB_LOCAL_ENDPOINT: a running one)
	@rm -f $(AUDIT)
	@echo "the tests are built first, which takes minutes with an empty cache; then each package has a line, those that wait most first" >&2
	IDEMDDB_AUDIT=$(AUDIT) $(LOCAL) with bash -euc '\
	  go test $(TESTING) -skip "$(MUTANTS)" $$(go list $(WAITING) ./... $(MODULES:%=./%/...) | grep -v /checks/mutation)'
	@echo "with the race detector, in memory:" >&2
	@unset DYNAMODB_LOCAL_ENDPOINT; IDEMDDB_AUDIT=$(AUDIT) go test -race -short $(TESTING) $(RACED)
	@go run ./internal/checks/audited/total $(AUDITED)

.PHONY: short
short: ## The short tests, one package after the other: their CPU time, which has a budget
	@.ci/short

.PHONY: race
race: ## With the race detector, in memory: the tests of the packages that make test runs without it
	@unset DYNAMODB_LOCAL_ENDPOINT; go test -race -short $(TESTING) $(ALSO_RACED)

.PHONY: mutants
mutants: ## The tests of the tests: each of some hundred small changes of the code must be noticed, about four minutes
	go test -count=1 -timeout=20m ./internal/checks/mutation

.PHONY: explore
explore: ## Every order of events of up to three writers, with faults, over the planner and the conditions, about a minute; FLAGS='-without 3': drop a rule
	@go run ./internal/checks/explore $(FLAGS)

.PHONY: proof
proof: ## What docs/evidence.md names: each fault, each bug and each promise with the tests that show it, two to four minutes; N=7: one row
	@$(LOCAL) with go run ./internal/checks/proof -row $(or $(N),0)

.PHONY: idem
idem: ## The operator's tool, into bin/idem; it is a module of its own, whose dependencies users of the library do not get
	cd cmd/idem && CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o ../../bin/idem .

.PHONY: browser
browser: ## The page of idem report, drawn and printed by Debian's chromium (apt-get install chromium); REPORT_SHOTS=folder keeps the pictures
	cd cmd/idem && go vet -tags browser ./internal/report && go test -tags browser -count=1 -run Browser ./internal/report

.PHONY: demo
demo: ## The story of one payment, with Go alone, in seconds once it is built; ENGINE=dynamodb-local: the same on DynamoDB Local
ifeq ($(ENGINE),memory)
	@ENGINE=memory go run ./localstack/demo
else ifeq ($(ENGINE),dynamodb-local)
	@$(LOCAL) with env ENGINE=dynamodb-local go run ./localstack/demo
else
	$(error ENGINE=$(ENGINE)? It is memory or dynamodb-local)
endif

.PHONY: localstack-check
localstack-check:
	@localstack/stack.sh check

.PHONY: local
local: localstack-check $(PYTHON_TOOLS)/.done ## The whole pipeline on this machine: LocalStack, sam deploy, payments, one screen; PORT=4566, LOCALSTACK=processes (default) or docker
	@SAM=$(PYTHON_TOOLS)/bin/sam localstack/local.sh up

.PHONY: local-down
local-down: ## Stop it; what it had was in memory
	@localstack/local.sh down

.PHONY: invoke
invoke: $(PYTHON_TOOLS)/.done ## sam local invoke against make local's DynamoDB, where Docker runs; EVENT=fresh, duplicate, mixed, poison, fifo or a file
	@SAM=$(PYTHON_TOOLS)/bin/sam localstack/invoke.sh $(EVENT)

.PHONY: e2e
e2e: $(PYTHON_TOOLS)/.done ## The deployed pipeline end to end, on a LocalStack of its own, without Docker: load, crashes, an outage, a client, the runbook by idem; about five minutes
	go vet -tags e2e ./localstack/e2e
	SAM=$(PYTHON_TOOLS)/bin/sam localstack/stack.sh with go test -tags e2e -count=1 -parallel 8 -timeout 20m -v ./localstack/e2e

.PHONY: chaos
chaos: ## functions/api and functions/payments in several processes on DynamoDB Local, with faults, kills and stops, about seven minutes; SEED=n, PAYMENTS=n, RUN=pattern
	go vet -tags chaos ./localstack/chaos/...
	SEED=$(SEED) PAYMENTS=$(PAYMENTS) $(LOCAL) with go test -tags chaos -count=1 -parallel 3 -timeout 30m -v -run '/$(RUN)' ./localstack/chaos

.PHONY: aws
aws: $(PYTHON_TOOLS)/.done ## The same in your own AWS account, for less than $0.10: IDEMDDB_AWS_ACCOUNT=its id AWS_REGION=...; deletes all it made; CLEAN=name: what a run left
	@SAM=$(PYTHON_TOOLS)/bin/sam $(PYTHON_TOOLS)/bin/python aws/accept.py $(if $(CLEAN),clean $(CLEAN),run)

.PHONY: lint
lint: $(GOLANGCI) $(ACTIONLINT) ## gofmt, go vet, golangci-lint, and actionlint for .github/workflows
	@out=$$(gofmt -l .); [ -z "$$out" ] || { printf 'not formatted by gofmt:\n%s\n' "$$out"; exit 1; }
	@wide=$$(git ls-files '*.go' | grep -v testdata/ | xargs awk '$(WITHOUT_OUTPUTS)' | grep -E '^[^:]*:[0-9]+:\s*// \S.{127}') || true; \
	  [ -z "$$wide" ] || { printf 'comments of more than 130 columns:\n%s\n' "$$wide"; exit 1; }
	go vet ./... $(PROGRAMS)
	go vet -tags aws ./localstack/e2e ./internal/contract # what make aws runs, which nothing else compiles
	$(GOLANGCI) run ./...
	for m in $(MODULES); do (cd $$m && go vet ./... && $(GOLANGCI) run ./...) || exit 1; done
	$(ACTIONLINT) .github/workflows/*.yml
	go build -o bin/idemlint ./cmd/idemlint && for m in . $(MODULES); do (cd $$m && go vet -vettool=$(CURDIR)/bin/idemlint ./...) || exit 1; done

.PHONY: tidy
tidy: ## Bring go.mod and go.sum up to date, and format
	.ci/tidy write
	gofmt -w .

.PHONY: release
release: ## Make the modules require one another in a version, and test them as a user gets them: VERSION=v0.2.0; docs/release.md
	@.ci/release $(VERSION)

.PHONY: release-check
release-check: sbom ## What users compile against, the versions that pages name, licences, and the modules as a user gets them; about three minutes
	go run ./internal/checks/release api
	go run ./internal/checks/release versions
	go run ./internal/checks/release licences bin/sbom/*.cdx.json
	.ci/consumer

.PHONY: sbom
sbom: $(CYCLONEDX) ## What each module needs, with its licences, as a bill of materials (CycloneDX), into bin/sbom
	@CYCLONEDX=$(CYCLONEDX) .ci/sbom bin/sbom

.PHONY: api
api: ## Write what users compile against into internal/checks/release/api.txt, where a change of it is looked at; make release-check demands it
	go run ./internal/checks/release api -write

.PHONY: bench
bench: $(BENCHSTAT) ## The library against the same SDK calls written by hand, about six minutes; FLAGS=-quick: its counts, 20 seconds; FLAGS='-against COMMIT'
	@BENCHSTAT=$(BENCHSTAT) bench/run.sh $(FLAGS)

.PHONY: bench-check
bench-check: ## Fails if a request, a write unit or an allocation is more than docs/performance.md has, one minute; WRITE=1: writes that page's tables and draws the picture of docs/cost.md
	go test -count=1 -run '^TestPerformance$$' ./bench -performance $(if $(WRITE),write,check)
	$(if $(WRITE),go run ./bench/costplot)

.PHONY: soak
soak: ## functions/payments under aws-lambda-go's runtime, 16 and 64 invocations at a time, and functions/api with 64 clients; TIME=60s: a minute each
	go test -count=1 -timeout=20m -v -run '^(TestUnderTheRuntime|TestManyClientsAtATime)$$' ./functions/payments ./functions/api -soak $(TIME)

.PHONY: coldstart
coldstart: ## The start of the smallest function until its first batch is answered over TLS, beside the SDK alone; FLAGS='-messages 10', -h lists all
	@go run ./bench/coldstart $(FLAGS)

.PHONY: fleet
fleet: ## Environments by the thousand over one table, in virtual time, for docs/scale.md; FLAGS=-full, FLAGS='-svg docs/pictures/scale.svg': draws its plot
	@go run ./bench/fleet $(FLAGS)

.PHONY: hot
hot: ## Few accounts that all workers write to: functions/payments in six processes beside one transaction a message; FLAGS='-accounts 1', -h lists all
	@go run ./bench/hot $(FLAGS)

.PHONY: compare
compare: $(COMPARED)/.done ## The same consumer on Powertools, by hand and on this library, under faults, about five minutes; FLAGS=-quick: few payments, -h lists all
	@go build -o bin/compare ./bench/compare
	@$(LOCAL) with bin/compare -tools $(COMPARED) $(FLAGS)

.PHONY: benchmarks
benchmarks: ## Go benchmarks of single parts; BENCH=pattern, COUNT=runs
	go test -run '^$$' -bench '$(BENCH)' -benchmem -count=$(COUNT) ./...

.PHONY: fuzz
fuzz: ## Every fuzz target for a moment; TIME=10s each
	@$(LOCAL) with .ci/fuzz $(TIME)

.PHONY: build
build: ## The functions as they run on Lambda, for both processors, into bin/
	@for arch in arm64 amd64; do for f in functions/*/main.go; do \
	  name=$$(basename $$(dirname $$f)); out=bin/$$name-linux-$$arch/bootstrap; \
	  CGO_ENABLED=0 GOOS=linux GOARCH=$$arch go build -trimpath -tags lambda.norpc -ldflags='-s -w' -o $$out ./functions/$$name || exit 1; \
	  printf '%-40s %s\n' $$out "$$(du -h $$out | cut -f1)"; \
	done; done

.PHONY: package
package: $(PYTHON_TOOLS)/.done ## sam build as it is to be deployed: no net/rpc, no symbols, no C library; ARCHITECTURE=arm64 or x86_64
	@SAM=$(PYTHON_TOOLS)/bin/sam localstack/package.sh --parameter-overrides Architecture=$(or $(ARCHITECTURE),arm64)

.PHONY: template
template: $(PYTHON_TOOLS)/.done $(CHECKOV)/.done ## Check template.yaml, samconfig.toml and the templates of the pages: sam validate, cfn-lint, checkov
	for stage in default staging production local; do $(PYTHON_TOOLS)/bin/sam validate --lint --config-env $$stage || exit 1; done
	$(PYTHON_TOOLS)/bin/sam validate --config-env none # no such stage, so no lint in its place: what SAM itself makes of the template
	$(PYTHON_TOOLS)/bin/cfn-lint --include-checks I --non-zero-exit-code informational -- template.yaml
	$(CHECKOV)/bin/checkov --file template.yaml --framework cloudformation --compact --quiet --skip-download # what it skips has its reason there
	for page in functions/testdata/*/template.yaml functions/testdata/*/*/template.yaml; do \
	  $(PYTHON_TOOLS)/bin/sam validate --lint --template-file $$page || exit 1; done
	$(CHECKOV)/bin/checkov --file $(QUICKSTART) --framework cloudformation --compact --quiet --skip-download \
	  --skip-check CKV_AWS_27,CKV_AWS_115,CKV_AWS_116,CKV_AWS_117,CKV_AWS_119,CKV_AWS_173 # docs/getting-started.md has the reasons

.PHONY: tools
tools: $(GOLANGCI) $(ACTIONLINT) $(BENCHSTAT) $(CYCLONEDX) $(PYTHON_TOOLS)/.done $(CHECKOV)/.done ## Install what lint, bench and template need, pinned, into ~/.cache/go-idemddb
	$(LOCAL) fetch

$(GOLANGCI):
	@echo "installing golangci-lint $(GOLANGCI_VERSION), some minutes, only once ..." >&2
	@mkdir -p $(CACHE)/bin/new
	GOBIN=$(CACHE)/bin/new GOFLAGS= go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(GOLANGCI_VERSION)
	@mv $(CACHE)/bin/new/golangci-lint $@

$(BENCHSTAT):
	@mkdir -p $(CACHE)/bin/new
	GOBIN=$(CACHE)/bin/new GOFLAGS= go install golang.org/x/perf/cmd/benchstat@$(BENCHSTAT_VERSION)
	@mv $(CACHE)/bin/new/benchstat $@

$(ACTIONLINT):
	@mkdir -p $(CACHE)/bin/new
	GOBIN=$(CACHE)/bin/new GOFLAGS= go install github.com/rhysd/actionlint/cmd/actionlint@$(ACTIONLINT_VERSION)
	@mv $(CACHE)/bin/new/actionlint $@

$(CYCLONEDX):
	@mkdir -p $(CACHE)/bin/new
	GOBIN=$(CACHE)/bin/new GOFLAGS= go install github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@$(CYCLONEDX_VERSION)
	@mv $(CACHE)/bin/new/cyclonedx-gomod $@

.PHONY: sam
sam: $(PYTHON_TOOLS)/.done
	@echo $(PYTHON_TOOLS)/bin/sam

$(PYTHON_TOOLS)/.done:
	@echo "installing aws-sam-cli and cfn-lint, about 350 MB, only once ..." >&2
	@python3 -c 'import ensurepip' 2>/dev/null || { echo "python3 has no venv. Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "python3 is older than 3.11, which the lists of packages are for" >&2; exit 1; }
	python3 -m venv --clear $(PYTHON_TOOLS)
	$(PYTHON_TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r .ci/requirements.txt
	@touch $@

$(COMPARED)/.done:
	@echo "installing Powertools for Python and for TypeScript, about 200 MB, only once ..." >&2
	@command -v npm > /dev/null || { echo "npm is missing. Debian and Ubuntu: apt-get install npm" >&2; exit 1; }
	@mkdir -p $(COMPARED)/node
	python3 -m venv --clear $(COMPARED)/python
	$(COMPARED)/python/bin/python -m pip install --quiet --disable-pip-version-check -r $(CONSUMERS)/requirements.txt
	cp $(CONSUMERS)/package.json $(CONSUMERS)/package-lock.json $(COMPARED)/node
	cd $(COMPARED)/node && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

# By itself: it needs another boto3 than sam does.
$(CHECKOV)/.done: $(PYTHON_TOOLS)/.done
	@echo "installing checkov, about 350 MB, only once ..." >&2
	python3 -m venv --clear $(CHECKOV)
	$(CHECKOV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r .ci/requirements-checkov.txt
	@touch $@
