# Targets are printed by plain `make`. Everything needs Go and git only;
# what tests need beyond that, they put into .cache (PostgreSQL 17, npm packages).

GO      ?= go
PG17     = $$(testsuite/postgres17.sh .cache/postgresql-17)
TIMEOUT ?= 75m
# More flags for go test, such as TESTFLAGS=-v.
TESTFLAGS ?=

.PHONY: help build vsix test test-editors test-supabase test-supabase-live scripts torture fuzz bench bench-editors bench-supabase lint demo clean

help: ## print the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## bin/forklift
	$(GO) build -o bin/forklift ./commands/forklift

vsix: ## editors/vscode/bin/forklift.vsix, the extension for VS Code; needs npm
	editors/vscode/package.sh

test: lint ## everything: unit tests, policy, scripts with real servers, the torture sweep, the extensions in real editors
	pg="$(PG17)" && FORKLIFT_PG_BIN="$$pg" $(GO) test -timeout $(TIMEOUT) $(TESTFLAGS) ./...
	$(MAKE) test-editors

test-editors: ## the extensions in real editors, which are put into .cache; needs npm, on Debian also root
	editors/nvim/test/run.sh
	editors/vscode/test/run.sh

lint: ## go vet for this system, for macOS and for the torture build; the policy tests
	$(GO) vet ./...
	$(GO) vet -tags failpoint ./...
	GOOS=darwin $(GO) vet ./...
	$(GO) vet -tags live,figures ./testsuite/supabase
	$(GO) test ./testsuite/policy

scripts: ## the end-to-end scripts only; make scripts RUN=restore picks by name
	pg="$(PG17)" && FORKLIFT_PG_BIN="$$pg" $(GO) test -timeout $(TIMEOUT) $(TESTFLAGS) -run 'TestScripts/$(RUN)' ./testsuite

torture: ## all sweeps: kill every verb at every step, on a running and a stopped server; an hour and more
	pg="$(PG17)" && FORKLIFT_TORTURE=all FORKLIFT_PG_BIN="$$pg" $(GO) test -timeout 6h -v $(TESTFLAGS) ./testsuite/torture ./testsuite/realinput ./testsuite/supabase

test-supabase: ## the stories of Supabase projects only: the real CLI, stand-ins for its services
	pg="$(PG17)" && FORKLIFT_PG_BIN="$$pg" $(GO) test -timeout $(TIMEOUT) $(TESTFLAGS) ./testsuite/internal/supaworld ./testsuite/supabase

test-supabase-live: ## the main story with Supabase's own services, which the CLI downloads; needs the network
	pg="$(PG17)" && FORKLIFT_PG_BIN="$$pg" $(GO) test -timeout $(TIMEOUT) -v -tags live -run TestLive ./testsuite/supabase

fuzz: ## every fuzz target for FUZZTIME (10s) each
	testsuite/fuzz.sh $(or $(FUZZTIME),10s)

bench: build ## the figures, as a table and as JSON
	pg="$(PG17)" && FORKLIFT_PG_BIN="$$pg" $(GO) run ./testsuite/bench -forklift bin/forklift -json bin/bench.json && cat bin/bench.json

bench-editors: build ## what editors wait for, in a small repository and in one of 100,000 files; minutes
	pg="$(PG17)" && FORKLIFT_PG_BIN="$$pg" $(GO) run ./testsuite/bench -editors -forklift bin/forklift -json bin/editors.json

bench-supabase: ## what setup, capture and restore of a Supabase stack take, beside the CLI alone; minutes
	pg="$(PG17)" && FORKLIFT_PG_BIN="$$pg" $(GO) test -timeout $(TIMEOUT) -v -tags figures -run TestFigures ./testsuite/supabase

demo: build ## a story: two times an invoicing application and its database
	testsuite/demo/demo.sh bin/forklift

clean: ## remove what make built; .cache (PostgreSQL for tests) stays
	rm -rf bin
