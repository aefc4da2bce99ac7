# On a new machine with Swift, begin with `make demo` or `make test`. The targets install libsodium if it is missing.

SWIFT ?= swift
# The arguments of all builds. All targets use the same arguments, because SwiftPM compiles everything again if they
# differ. Debug information takes a tenth of the compile time. `make … FLAGS=` adds it.
FLAGS ?= -debug-info-format none
DOCS_DIR ?= .build/docs
FORMATTED = Package.swift Sources Tests Tools Examples \
	Benchmarks/Package.swift Benchmarks/Sources

.PHONY: help demo serve demo-event-streams demo-chat demo-signalr demo-worker test test-examples setup build build-release lint format docs api api-check api-members test-thread-sanitizer check-memory check-decoder
.PHONY: test-consumer consumer-check
.PHONY: nightly test-threads test-without-sodium
.PHONY: fuzz fuzz-check simulate simulate-mutants test-mutants check-mutants soak burst test-network autobahn bench bench-check

help:
	@echo "make demo                    show the client and the embedded server at work"
	@echo "make serve                   start the embedded server and its console, for an app in development"
	@echo "make demo-event-streams      follow a live feed that survives the restart of its server"
	@echo "make demo-chat               show a chat of two people, until the server disconnects one; .build/debug/terminal-chat NAME lets you chat"
	@echo "make demo-signalr            show a chat of two people over SignalR; one of them loses the connection"
	@echo "make demo-worker             run the example worker, which handles three orders and stops"
	@echo "make test-examples           run the tests of the examples"
	@echo "make test                    run all tests"
	@echo "make test-console            test the console of pusher serve in headless Chromium; CHROMIUM=path, SCREENSHOTS=folder"
	@echo "make test-consumer           build a package that depends on this one, with both build systems of SwiftPM"
	@echo "make consumer-check          build the same package with one build system, in the build folder of the tests"
	@echo "make check-snippets          compile the Swift examples of the documents, and check their links; needs python3"
	@echo "make lint | make format      check or correct the formatting of the sources"
	@echo "make build-release           build all products in release"
	@echo "make docs                    build the documentation; warnings are errors"
	@echo "make api | make api-check    write or check the listing of the public API in Docs/API; needs python3"
	@echo "make api-members             count the API's members that PusherSwift does not have; BEFORE=revision"
	@echo "make nightly                 run all checks that are too long for each change; Debian, root, hours"
	@echo "make test-threads            run the tests of code with threads under ThreadSanitizer, with all traits"
	@echo "make test-without-sodium     run all tests in a build without libsodium"
	@echo "make test-thread-sanitizer   run all tests under ThreadSanitizer, with all traits"
	@echo "make check-memory            run all tests under AddressSanitizer and LeakSanitizer; Linux"
	@echo "make check-decoder           compare the decoders of frames and JSON with Foundation's, under AddressSanitizer"
	@echo "make simulate                run the client in virtual time, with random faults; SEEDS=n, FIRST=seed, RELEASE=1, HISTOGRAM=1"
	@echo "make simulate-mutants        remove the client's protections one by one, and check that the simulation fails; NAMES=…, JOBS=n; Linux"
	@echo "make test-mutants            remove the client's protections one by one, and check that a test fails; NAMES=…, JOBS=n; Linux"
	@echo "make fuzz SECONDS=…          look for inputs that crash or hang the code; TARGET=NAME runs one target, BUILT=1 does not build"
	@echo "make fuzz-check              run a fixed number of inputs, made from the inputs in the repository"
	@echo "make burst                   receive 50,000 events faster than the listeners consume them"
	@echo "make soak                    run the long tests: 10,000 reconnects, 1,000 clients, a burst, event streams, SignalR; ROUNDS=n, CLIENTS=n, EVENTS=n"
	@echo "make test-network            test faults of the network between network namespaces; skipped without root"
	@echo "make bench                   compare the client's speed with references; QUICK=1, ONLY=TABLE, OUTPUT=FILE, PUSHER_JS=FILE, SIGNALR_JS=node_modules"
	@echo "make bench-check             check that each measurement runs, with a debug build"
	@echo "make autobahn URL=ws://…     test the WebSocket client against an Autobahn fuzzing server"

demo serve: setup
	$(SWIFT) run $(FLAGS) pusher $@

# Uses the build folder of the tests, which already contains most of the modules.
demo-event-streams demo-chat demo-signalr: setup
	$(SWIFT) build $(FLAGS) --package-path Examples $(IN_OUR_BUILD)
	.build/debug/$(EXAMPLE)

demo-event-streams: EXAMPLE = sse-demo
demo-chat: EXAMPLE = terminal-chat
demo-signalr: EXAMPLE = signalr-chat

# The tests of the examples are written as an app would write them.
test-examples: setup
	$(SWIFT) build --build-tests $(FLAGS) --package-path Examples $(IN_OUR_BUILD) $(PROGRESS)
	$(SWIFT) test $(FLAGS) --package-path Examples $(IN_OUR_BUILD) --skip-build

# The worker turns traits on, so SwiftPM compiles PusherClient again.
demo-worker: setup
	$(SWIFT) run $(FLAGS) --package-path Examples/Worker worker

# A terminal shows the progress of a build in one line. In a log, the progress would be one line per file, so it is
# turned off.
PROGRESS := $(shell [ -t 2 ] || echo --quiet)
# The runner prints only the tests that fail. The list of all tests has thousands of lines.
QUIET = --skip-build --quiet

test: build
	$(SWIFT) test $(FLAGS) $(QUIET)

# The tests control Chromium over the DevTools protocol, and need no other program.
CHROMIUM ?= $(shell command -v chromium-headless-shell || command -v chromium || command -v google-chrome)
test-console: export CHROMIUM := $(CHROMIUM)
test-console: has-chromium build
	$(SWIFT) test $(FLAGS) --skip-build --filter ConsoleBrowserTests

.PHONY: test-console has-chromium
has-chromium:
	@[ -n "$(CHROMIUM)" ] || { \
		echo "No Chromium was found. Install it (apt-get install chromium-headless-shell, or brew install --cask chromium)," >&2; \
		echo "or name it: make test-console CHROMIUM=/path/to/chromium" >&2; exit 1; }

# All checks that `.ci/run` leaves out, on Debian as root. They take hours.
nightly:
	.ci/nightly

build: setup
	$(SWIFT) build --build-tests $(FLAGS) $(PROGRESS)

# A release build compiles each module as a whole, and can fail where a debug build succeeds.
build-release: setup
	$(SWIFT) build -c release $(FLAGS) $(PROGRESS)

# libsodium is a library of the system. The package finds it with pkg-config.
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

# Without the second option, SwiftPM would use the cached build plan of this package for the other package.
IN_OUR_BUILD = --scratch-path .build --disable-build-manifest-caching

test-consumer: setup
	SWIFT="$(SWIFT)" FLAGS="$(FLAGS)" Tests/Consumer/run.sh

# Uses the build folder of the tests, so the settings have to be the same as for the tests. Therefore, this target does
# not test the manifest that dependents read.
consumer-check: setup
	$(SWIFT) build $(FLAGS) --package-path Tests/Consumer $(IN_OUR_BUILD)
	.build/debug/Consumer

# Prints a variable, for scripts.
print-%:
	@echo $($*)

# Uses the modules that were built for the tests. snippets.py describes the marks of examples that do not compile alone.
.PHONY: check-snippets
check-snippets: build
	Tests/Tools/Snippets/links.py
	SWIFT="$(SWIFT)" FLAGS="$(FLAGS)" Tests/Tools/Snippets/snippets.py

# The compiler reports an undeclared import of NIO in a core, but every target can import Foundation. So this target
# looks for both imports. A suite without the trait `limited` would start its tests beside all others. The last check
# looks for boxes of functions: a generic box wraps a bare function once more at each read, and keeps the wrapper. It
# finds only functions that are written in the type of the box.
lint:
	$(SWIFT) format lint --strict --parallel --recursive $(FORMATTED)
	@test -d Sources/PusherCore -a -d Sources/SignalRCore
	@! grep -rnE '\bimport ([a-z]+ )?(NIO|Foundation)' Sources/PusherCore Sources/SignalRCore
	@test -d Sources/ServerSentEvents/Parsing && ! grep -rnE '\bimport ([a-z]+ )?(NIO|Foundation)' Sources/ServerSentEvents/Parsing
	@! grep -rnE '\bimport ([a-z]+ )?Pusher' Sources/ServerSentEvents Sources/EventSourceTestServer
	@! grep -rn 'withTaskCancellationHandler' Sources --include='*.swift' | grep -v RealtimePrimitives/CancellationHandler.swift
	@suites=$$(grep -rl --include='*.swift' '@Suite' Tests/*Tests | xargs grep -L '\.limited'); \
		[ -z "$$suites" ] || { echo "without the trait limited: $$suites" >&2; exit 1; }
	@for suite in $(THREADED) $(UNTHREADED); do name=$${suite##*.}; \
		[ -d Tests/$$name ] || grep -rqE "struct $$name\b" Tests/*Tests || { echo "no suite $$suite" >&2; exit 1; }; done
	@! grep -rnE --include='*.swift' --exclude-dir=.build '(NIOLockedValueBox|NIOLoopBoundBox|Mutex)<[^>]*->' Sources Tests Tools Examples Benchmarks/Sources

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

# All traits except BundledSodium, whose package contains libraries for Apple's platforms only.
TRAITS = --traits SystemSodium,Compression,Metrics,ServiceLifecycle

# Without the trait SystemSodium, as on Apple's other platforms. The macro makes the module of libsodium an error, and
# the linked tests must not ask for the library. pkg-config finds nothing.
WITHOUT_SODIUM = --disable-default-traits --scratch-path .build-without-sodium -Xcc -DPUSHER_WITHOUT_SODIUM
test-without-sodium: export PKG_CONFIG_LIBDIR = /nonexistent
test-without-sodium: export PKG_CONFIG_PATH =
test-without-sodium:
	$(SWIFT) build --build-tests $(FLAGS) $(WITHOUT_SODIUM) $(PROGRESS)
	@! ldd .build-without-sodium/debug/PusherClientPackageTests.xctest | grep sodium
	$(SWIFT) test $(FLAGS) $(WITHOUT_SODIUM) $(QUIET)

# The build has a separate folder, because two builds with different settings would replace each other. The tests run one
# at a time, because parallel tests would be so slow that waits time out. All traits are on, because the ordinary tests
# do not cover the code of traits. SKIP contains the names of the suites to skip.
THREAD_SANITIZER = $(TRAITS) --sanitize=thread --scratch-path .build-thread-sanitizer
test-threads test-thread-sanitizer: export TSAN_OPTIONS = suppressions=$(CURDIR)/Tests/Tools/ThreadSanitizer/suppressions.txt
test-thread-sanitizer: setup
	SWIFT_DETERMINISTIC_HASHING=1 $(SWIFT) build --build-tests $(FLAGS) $(THREAD_SANITIZER) $(PROGRESS)
	$(SWIFT) test $(FLAGS) $(THREAD_SANITIZER) $(QUIET) --no-parallel $(foreach suite,$(SKIP),--skip $(suite))

# The targets and suites whose tests use several threads: sockets, callback queues, sequences and the test servers. The
# other tests step machines or virtual time on one thread. The last two suites need traits, so other runs do not have them.
# The suites in UNTHREADED are skipped: they use one thread, or repeat for 500 clients what other suites do for a few, and
# would take minutes in this build. `make test-thread-sanitizer` runs them too.
THREADED = RealtimeNetworkingTests RealtimeHTTPTests WebSocketClientTests ServerSentEventsTests SignalRClientTests \
	PusherSwiftProgramTests Swift6ProgramTests \
	$(addprefix PusherTestServerTests.,ListenerTests EndpointsOnSocketsTests HTTPTransportSocketTests UnreadingClientTests \
		ProxyFaultTests ProxyTunnelTests) \
	$(addprefix PusherClientTests.,AuthorizationOverSocketsTests HTTPOverSocketsTests LifecycleTests ThroughProxyTests \
		SwitchingOverSocketsTests UnreadingServerTests ClosedPipeTests DisturbedConnectionTests KilledServerTests \
		LostConnectionTests SilentConnectionTests BroadcastTests EventBufferTests ManyThreadsTests CallbackQueueTests \
		AwaitedListenerTests SharingTests ReleaseTests LifetimeTests MetricsTests ServiceTests)
UNTHREADED = ConnectionWalkTests EventStreamParserTests ParserVectorTests WebSocketFrameReaderTests \
	WebSocketFrameWriterTests ReconnectingStateMachineTests EventStreamStateMachineTests ManyTestsAtOnceTests
THREADED_TARGETS = $(sort $(foreach suite,$(THREADED),$(firstword $(subst ., ,$(suite)))))
test-threads: export PUSHER_TESTS = $(THREADED_TARGETS)
test-threads: setup
	SWIFT_DETERMINISTIC_HASHING=1 $(SWIFT) build --build-tests $(FLAGS) $(THREAD_SANITIZER) $(PROGRESS)
	$(SWIFT) test $(FLAGS) $(THREAD_SANITIZER) $(QUIET) \
		$(foreach suite,$(THREADED),--filter $(suite)) $(foreach suite,$(UNTHREADED),--skip $(suite))

# Compares 200,000 frames, and as many JSON documents. The build contains only the decoders and the generators. The second
# run uses the code for processors without known vector instructions.
ADDRESS_SANITIZER = -c release --sanitize=address --scratch-path .build-address-sanitizer
check-decoder: export ASAN_OPTIONS = malloc_context_size=3
check-decoder: setup
	$(SWIFT) build $(FLAGS) $(ADDRESS_SANITIZER) --product decoder-check
	.build-address-sanitizer/release/decoder-check
	PUSHER_PLAIN_JSON=1 $(SWIFT) build $(FLAGS) $(ADDRESS_SANITIZER) --product decoder-check
	.build-address-sanitizer/release/decoder-check 200000 2

# With deterministic hashing, sets have the same order in each run. Otherwise, two runs of a seed could differ.
SEEDS ?= 2000
FIRST ?= 1
SIMULATION = $(if $(RELEASE),-c release --scratch-path .build-simulation)
simulate: setup
	$(SWIFT) build $(FLAGS) $(SIMULATION) --product simulate
	SWIFT_DETERMINISTIC_HASHING=1 $$($(SWIFT) build $(FLAGS) $(SIMULATION) --show-bin-path)/simulate \
		--first $(FIRST) --seeds $(SEEDS) $(if $(HISTOGRAM),--histogram)

# The simulation needs more than 2,000 seeds to find one of the mutants.
simulate-mutants: SEEDS = 4000
simulate-mutants: setup
	SWIFT="$(SWIFT)" FLAGS="$(FLAGS)" SEEDS=$(SEEDS) Tests/Tools/Mutants/mutants.py simulation $(NAMES)

# Checks that the code which each mutant removes still exists.
check-mutants:
	Tests/Tools/Mutants/mutants.py check

test-mutants: setup
	SWIFT="$(SWIFT)" FLAGS="$(FLAGS)" SAMPLE=$(SAMPLE) Tests/Tools/Mutants/mutants.py tests $(NAMES)

# Prints the totals of all runs. Inputs that cause a failure are in .build-fuzzer/output/findings.
SECONDS = 600
FUZZ = SWIFT="$(SWIFT)" FLAGS="$(FLAGS)" Tests/Tools/Fuzzing/fuzz.sh
fuzz: setup
	$(if $(BUILT),,$(FUZZ) build)
	$(FUZZ) run $(SECONDS) $(TARGET)

fuzz-check: setup
	$(FUZZ) build
	$(FUZZ) check

# Runs all tests. AddressSanitizer finds invalid access to memory, and LeakSanitizer finds leaks.
MEMORY = $(TRAITS) --sanitize=address --scratch-path .build-address-sanitizer
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

# This target does not run together with other tests: the listeners would wait for a processor, and the client would stop
# waiting for the listeners.
burst: EVENTS = 50000
burst: setup
	$(SOAK)
	$$($(SWIFT) build $(FLAGS) --show-bin-path)/soak burst --events $(EVENTS)

test-network: setup
	SWIFT="$(SWIFT)" FLAGS="$(FLAGS)" Tools/NetworkCheck/run.sh || [ $$? = 77 ]

# The benchmarks are a separate package, so packages that depend on this package do not get their dependencies.
BENCHMARKS = Benchmarks/.build/release
bench: export PUSHER_JS := $(PUSHER_JS)
bench: export SIGNALR_JS := $(SIGNALR_JS)
bench: setup
	$(SWIFT) build --package-path Benchmarks -c release
	$(BENCHMARKS)/BenchmarkRunner $(if $(QUICK),--quick) $(if $(ONLY),--only "$(ONLY)") $(if $(OUTPUT),--output "$(OUTPUT)")

# Uses the build folder of the tests, which already contains most of the modules. This works only if both packages
# resolve to the same versions, as they do when both are resolved for the first time.
bench-check: setup
	$(SWIFT) build $(FLAGS) --package-path Benchmarks $(IN_OUR_BUILD)
	.build/debug/BenchmarkRunner --check
