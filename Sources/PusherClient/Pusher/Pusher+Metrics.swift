#if Metrics
    public import CoreMetrics
    import NIOCore

    /// Part of the trait `Metrics`.
    extension Pusher {
        /// Tells swift-metrics what the ``statistics`` count, from now on and with all that was counted before; only
        /// single times (recoveries, authorizations, pings) are those from now on, and the time connected is not told.
        /// See <doc:ObservingAClient> for the names.
        ///
        /// It is told what has changed after each piece of work on the client's event loop, for example all messages of
        /// one read: the factory's counters, meters and timers are called there, and must not block; they may call the
        /// client. Calling this again goes over to another factory, which is told all counts from the beginning. What was
        /// made by a factory is never destroyed by it: other clients may have the same.
        ///
        /// - Parameters:
        ///   - factory: Who is told. Default: the one that the program has set up.
        ///   - dimensions: What tells this client's metrics from those of others. Default: nothing; the numbers of all
        ///     clients add up then.
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
            // In a turn of its own: a factory that causes something each time must not keep the loop from all else.
            if loopState.value.hasMoreMetrics { inAnotherTurn { self.tellMetrics() } }
        }
    }
#endif
