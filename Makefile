# Everything that a fresh machine needs is done by the targets themselves: `make demo` and `make test` come first.

SWIFT ?= swift
# Arguments for everything that builds. They are the same for all targets, because a change compiles everything again.
# Debug information takes a tenth of the time to compile: `make … FLAGS=` adds it.
FLAGS ?= -debug-info-format none
DOCS_DIR ?= .build/docs
FORMATTED = Package.swift Sources Tests Tools Examples \
	Benchmarks/Package.swift Benchmarks/Sources

.PHONY: help demo demo-event-streams demo-chat demo-signalr demo-worker test test-examples setup build lint format docs api api-check api-members test-thread-sanitizer check-memory check-decoder
.PHONY: test-consumer consumer-check
.PHONY: fuzz fuzz-check simulate simulate-mutants test-mutants check-mutants soak burst test-network autobahn bench bench-check

help:
	@echo "make demo                    watch the client and the embedded server at work"
	@echo "make demo-event-streams      follow a live feed that survives the restart of its server"
	@echo "make demo-chat               two people chat, and one of them is sent away; with a name, .build/debug/terminal-chat is yours"
	@echo "make demo-signalr            two people chat over SignalR, and one of them loses the connection"
	@echo "make demo-worker             a worker for servers handles three orders, and stops"
	@echo "make test-examples           run the tests of the chat"
	@echo "make test                    run all tests"
	@echo "make test-console            try the console of pusher serve in headless Chromium; CHROMIUM=path, SCREENSHOTS=folder"
	@echo "make test-consumer           build a package that depends on this one, with both build systems of SwiftPM"
	@echo "make consumer-check          the same with one build system, in the build folder of the tests"
	@echo "make check-snippets          compile the Swift examples of README, Docs, articles and doc comments; needs python3"
	@echo "make lint | make format      check or fix the house style"
	@echo "make docs                    build the documentation; warnings are errors"
	@echo "make api | make api-check    write or check the listing of the public API in Docs/API; needs python3"
	@echo "make api-members             count the members of that listing that PusherSwift does not have; BEFORE=revision"
	@echo "make test-thread-sanitizer   run all tests under ThreadSanitizer, with all traits"
	@echo "make check-memory            run all tests under AddressSanitizer, and look for leaks; Linux"
	@echo "make check-decoder           compare the frame decoder with Foundation's, under AddressSanitizer"
	@echo "make simulate                the client in virtual time, with random faults; SEEDS=n, FIRST=seed, RELEASE=1, HISTOGRAM=1"
	@echo "make simulate-mutants        see whether the simulation misses defences that are taken out, one by one; NAMES=…"
	@echo "make test-mutants            see whether the tests miss what is done about faults, likewise; NAMES=…"
	@echo "make fuzz SECONDS=…          look for inputs that do harm; TARGET=NAME for one part, BUILT=1 without building"
	@echo "make fuzz-check              the same with a fixed number of inputs, from those in the repository"
	@echo "make burst                   receive 50,000 events faster than listeners take them"
	@echo "make soak                    lose 10,000 connections, a server with 1,000 clients; a burst; ROUNDS=n, CLIENTS=n, EVENTS=n"
	@echo "make test-network            pull cables between network namespaces; needs root, else it is skipped"
	@echo "make bench                   measure the client against references; QUICK=1, ONLY=TABLE, OUTPUT=FILE"
	@echo "make bench-check             see whether each measurement can be made, with a build that is not optimized"
	@echo "make autobahn URL=ws://…     run the WebSocket transport against an Autobahn fuzzing server"

demo: setup
	$(SWIFT) run $(FLAGS) pusher demo

# In the tests' build folder, where most of what it needs is built already.
demo-event-streams demo-chat demo-signalr: setup
	$(SWIFT) build $(FLAGS) --package-path Examples $(IN_OUR_BUILD)
	.build/debug/$(EXAMPLE)

demo-event-streams: EXAMPLE = sse-demo
demo-chat: EXAMPLE = terminal-chat
demo-signalr: EXAMPLE = signalr-chat

# The tests that an app would have.
test-examples: setup
	$(SWIFT) build --build-tests $(FLAGS) --package-path Examples $(IN_OUR_BUILD) $(PROGRESS)
	$(SWIFT) test $(FLAGS) --package-path Examples $(IN_OUR_BUILD) --skip-build

# It switches traits on, and so has PusherClient compiled again.
demo-worker: setup
	$(SWIFT) run $(FLAGS) --package-path Examples/Worker worker

# A terminal shows the progress of a build in one line. A log would have a line for each file.
PROGRESS := $(shell [ -t 2 ] || echo --quiet)
# The runner names tests that fail, and no others: all are some thousand lines.
QUIET = --skip-build --quiet

# If all tests start at once, each step of a test waits for a step of two thousand others. That can take longer than the
# time limits of the clients under test.
WIDTH ?= --experimental-maximum-parallelization-width 16

test: build
	$(SWIFT) test $(FLAGS) $(QUIET) $(WIDTH)

# The tests drive it over the DevTools protocol, and need nothing else.
CHROMIUM ?= $(shell command -v chromium-headless-shell || command -v chromium || command -v google-chrome)
test-console: export CHROMIUM := $(CHROMIUM)
test-console: has-chromium build
	$(SWIFT) test $(FLAGS) --skip-build --filter ConsoleBrowserTests

.PHONY: test-console has-chromium
has-chromium:
	@[ -n "$(CHROMIUM)" ] || { \
		echo "No Chromium was found. Install it (apt-get install chromium-headless-shell, or brew install --cask chromium)," >&2; \
		echo "or name it: make test-console CHROMIUM=/path/to/chromium" >&2; exit 1; }

build: setup
	$(SWIFT) build --build-tests $(FLAGS) $(PROGRESS)

# libsodium is a library of the system; the package finds it by pkg-config.
setup:
	@pkg-config --exists libsodium 2>/dev/null || $(MAKE) --no-print-directory install-libsodium

.PHONY: install-libsodium
install-libsodium:
	@set -e; \
	if command -v brew >/dev/null; then brew install libsodium pkg-config; \
	elif command -v apt-get >/dev/null; then \
		as_root=; [ "$$(id -u)" = 0 ] || as_root=sudo; \
		$$as_root apt-get update -qq; \
		$$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq libsodium-dev pkg-config; \
	else echo "Install libsodium with its headers, and pkg-config, then try again." >&2; exit 1; fi

# SwiftPM would take its plan of the last build, which is one of this package, for that of the other.
IN_OUR_BUILD = --scratch-path .build --disable-build-manifest-caching

test-consumer: setup
	SWIFT="$(SWIFT)" FLAGS="$(FLAGS)" Tests/Consumer/run.sh

# In the build folder of the tests, where everything it needs is built. This is no test of the manifest that dependents
# read: the settings have to be those of the tests' build.
consumer-check: setup
	$(SWIFT) build $(FLAGS) --package-path Tests/Consumer $(IN_OUR_BUILD)
	.build/debug/Consumer

# With the modules that were built for the tests. Tests/Tools/Snippets says how an example is marked that is no program.
.PHONY: check-snippets
check-snippets: build
	SWIFT="$(SWIFT)" FLAGS="$(FLAGS)" Tests/Tools/Snippets/snippets.py

# The compiler finds an undeclared import of NIO in a core, but not one of Foundation, which every target may have.
lint:
	$(SWIFT) format lint --strict --parallel --recursive $(FORMATTED)
	@test -d Sources/PusherCore -a -d Sources/SignalRCore
	@! grep -rnE '\bimport ([a-z]+ )?(NIO|Foundation)' Sources/PusherCore Sources/SignalRCore
	@test -d Sources/ServerSentEvents/Parsing && ! grep -rnE '\bimport ([a-z]+ )?(NIO|Foundation)' Sources/ServerSentEvents/Parsing
	@! grep -rnE '\bimport ([a-z]+ )?Pusher' Sources/ServerSentEvents Sources/EventSourceTestServer

format:
	$(SWIFT) format --in-place --parallel --recursive $(FORMATTED)

docs: setup
	SWIFT="$(SWIFT)" FLAGS="$(FLAGS)" .ci/docs $(DOCS_DIR)

api: setup
	SWIFT="$(SWIFT)" FLAGS="$(FLAGS)" .ci/api write

api-check: setup
	SWIFT="$(SWIFT)" FLAGS="$(FLAGS)" .ci/api check

api-members:
	.ci/api-members $(if $(BEFORE),--before $(BEFORE))

# A build folder of its own, so that neither build throws the other away. One test after the other: all at once they
# would be so slow that bounded waits come to their end. With all traits, so that what they switch on is tested somewhere.
# SKIP has the names of suites to leave out.
THREAD_SANITIZER = --enable-all-traits --sanitize=thread --scratch-path .build-thread-sanitizer
test-thread-sanitizer: export TSAN_OPTIONS = suppressions=$(CURDIR)/Tests/Tools/ThreadSanitizer/suppressions.txt
test-thread-sanitizer: setup
	$(SWIFT) build --build-tests $(FLAGS) $(THREAD_SANITIZER) $(PROGRESS)
	$(SWIFT) test $(FLAGS) $(THREAD_SANITIZER) $(QUIET) --no-parallel $(foreach suite,$(SKIP),--skip $(suite))

# 200,000 frames. Only the decoder and what makes the frames are compiled.
ADDRESS_SANITIZER = -c release --sanitize=address --scratch-path .build-address-sanitizer
check-decoder: setup
	$(SWIFT) build $(FLAGS) $(ADDRESS_SANITIZER) --product decoder-check
	ASAN_OPTIONS=malloc_context_size=3 .build-address-sanitizer/release/decoder-check

# Without deterministic hashing, sets are gone through in another order each time, and a seed would not say it all.
SEEDS ?= 2000
FIRST ?= 1
SIMULATION = $(if $(RELEASE),-c release --scratch-path .build-simulation)
simulate: setup
	$(SWIFT) build $(FLAGS) $(SIMULATION) --product simulate
	SWIFT_DETERMINISTIC_HASHING=1 $$($(SWIFT) build $(FLAGS) $(SIMULATION) --show-bin-path)/simulate \
		--first $(FIRST) --seeds $(SEEDS) $(if $(HISTOGRAM),--histogram)

simulate-mutants: setup
	SWIFT="$(SWIFT)" FLAGS="$(FLAGS)" SEEDS=$(SEEDS) Tests/Tools/Mutants/mutants.py simulation $(NAMES)

# Whether each still says what to take out.
check-mutants:
	Tests/Tools/Mutants/mutants.py check

test-mutants: setup
	SWIFT="$(SWIFT)" FLAGS="$(FLAGS)" Tests/Tools/Mutants/mutants.py tests $(NAMES)

# Tests/Tools/Fuzzing says more. Prints what all runs so far have come to; what is found is in .build-fuzzer/output/findings.
SECONDS = 600
FUZZ = SWIFT="$(SWIFT)" FLAGS="$(FLAGS)" Tests/Tools/Fuzzing/fuzz.sh
fuzz: setup
	$(if $(BUILT),,$(FUZZ) build)
	$(FUZZ) run $(SECONDS) $(TARGET)

fuzz-check: setup
	$(FUZZ) build
	$(FUZZ) check

# All tests, with bounds and lifetimes of memory watched, and what they leave behind looked for.
MEMORY = --enable-all-traits --sanitize=address --scratch-path .build-address-sanitizer
check-memory: setup
	$(SWIFT) build $(FLAGS) --build-tests $(MEMORY) $(PROGRESS)
	Tests/Tools/MemoryCheck/run.sh .build-address-sanitizer/debug/PusherClientPackageTests.xctest

autobahn: setup
	FLAGS="$(FLAGS)" Tools/AutobahnClient/run.sh

ROUNDS ?= 10000
CLIENTS ?= 1000
EVENTS ?= 1000000
SOAK = $(SWIFT) build $(FLAGS) --product soak
soak: setup
	$(SOAK)
	@set -e; soak=$$($(SWIFT) build $(FLAGS) --show-bin-path)/soak; \
	$$soak reconnects --rounds $(ROUNDS); $$soak herd --clients $(CLIENTS); $$soak burst --events $(EVENTS); \
	$$soak event-streams --rounds $(ROUNDS); $$soak signalr --rounds $(ROUNDS)

# Beside other tests, listeners would have to wait for a processor, and then the client would not wait for them.
burst: EVENTS = 50000
burst: setup
	$(SOAK)
	$$($(SWIFT) build $(FLAGS) --show-bin-path)/soak burst --events $(EVENTS)

test-network: setup
	SWIFT="$(SWIFT)" FLAGS="$(FLAGS)" Tools/NetworkCheck/run.sh

# A package of its own, built as users build theirs: nothing of it enters the graph of those who depend on this one.
BENCHMARKS = Benchmarks/.build/release
bench: setup
	$(SWIFT) build --package-path Benchmarks -c release
	$(BENCHMARKS)/BenchmarkRunner $(if $(QUICK),--quick) $(if $(ONLY),--only "$(ONLY)") $(if $(OUTPUT),--output "$(OUTPUT)")

# In the tests' build folder, where most of what it needs is built already. Both packages have to be resolved to the
# same versions for that, as they are where both are resolved for the first time.
bench-check: setup
	$(SWIFT) build $(FLAGS) --package-path Benchmarks $(IN_OUR_BUILD)
	.build/debug/BenchmarkRunner --check
