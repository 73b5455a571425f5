# The verbs of this repository. Each is one command that can be run again; `make help` lists them.
#
# PROFILE=release builds `make up` with all optimisations: slower to build, for measuring.

CARGO ?= cargo

.DEFAULT_GOAL := help
.PHONY: help up test check bench services fmt

help: ## list the verbs
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20

up: ## build readmark, start it on embedded parts, play an example, leave it running
	@scripts/example

test: ## run every test: units, properties, simulation, conformance, scenarios, traces, kills, chaos, documents
	@CARGO="$(CARGO)" scripts/test

# The whole workspace is named, so that what is built here serves the tests too.
DOCUMENTS = architecture cli compose configuration dead_letters links metrics

check: ## formatting, lints, types, the policy of dependencies, schemas and documents
	$(CARGO) fmt --all --check
	clients/typescript/scripts/run check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	$(CARGO) clippy --locked --workspace --test '*' -- -D warnings
	scripts/dependencies
	$(CARGO) test --locked --workspace --test schemas --test golden --test openapi $(addprefix --test ,$(DOCUMENTS))

bench: ## measure on this machine, on embedded and on full parts; see docs/benchmarks.md
	@CARGO="$(CARGO)" scripts/bench

services: ## say which outside parts run on this machine: Kafka, Cassandra, Redis
	@scripts/services status

fmt: ## format the code
	$(CARGO) fmt --all
