#if Metrics
    public import CoreMetrics
    import NIOCore

    /// Part of the trait `Metrics`.
    extension Pusher {
        /// Reports to swift-metrics what ``statistics`` counts. Counters include everything that was counted before.
        /// Single times (recoveries, authorizations, pings) are reported from now on, and the time connected is not
        /// reported. See <doc:ObservingAClient> for the names.
        ///
        /// The client reports changes after each piece of work on its event loop, for example after all messages of one
        /// read. It calls the factory's counters, meters and timers there, so they must not block. They may call the
        /// client. Calling this again switches to another factory, which gets all counts from the beginning. The client
        /// never destroys the metrics that a factory made, because other clients may share them.
        ///
        /// - Parameters:
        ///   - factory: Where the client reports. Default: the factory that the program has set up.
        ///   - dimensions: What distinguishes this client's metrics from those of others. Default: none. The numbers of
        ///     all clients then add up.
        public func emitMetrics(
            to factory: any MetricsFactory = MetricsSystem.factory,
            dimensions: [(String, String)] = []
        ) {
            let engine = engine
            engine.eventLoop.execute {
                engine.update { $0.machine.keepSamples() }
                let previous = engine.loopState.value.metrics
                engine.loopState.value.metrics = nil
                previous?.withdraw()
                engine.loopState.value.metrics = MetricsReporter(factory, dimensions: dimensions)
                engine.tellMetrics()
            }
        }
    }

    extension ClientEngine {
        /// Called on the event loop, and not under the lock.
        func tellMetrics() {
            guard var reporter = loopState.value.metrics else {
                loopState.value.hasMoreMetrics = true
                return
            }
            loopState.value.metrics = nil
            loopState.value.hasMoreMetrics = false
            let samples = update { $0.machine.takeSamples() }
            reporter.tell(statistics, samples)
            loopState.value.metrics = reporter
            // In another turn of the loop: a factory that causes new changes each time must not block everything else.
            if loopState.value.hasMoreMetrics { inAnotherTurn { self.tellMetrics() } }
        }
    }
#endif
