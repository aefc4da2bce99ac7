#if Metrics
    public import CoreMetrics
    import NIOCore

    /// Metrics of a client, with the package's trait `Metrics`.
    extension Pusher {
        /// Reports the counts of ``statistics`` to swift-metrics. Counters include all earlier counts. The client
        /// reports single times (recoveries, authorizations, pings) from now on, and does not report
        /// ``PusherStatistics/Connections/timeConnected``. See <doc:ObservingAClient> for the names.
        ///
        /// The client reports changes after each piece of work on its event loop, for example after all messages of one
        /// read. The factory's counters, meters and timers run on the event loop, so they must not block. They may call
        /// the client. Another call of this method switches to another factory, which gets all counts from the
        /// beginning. The client never destroys the metrics that a factory made, because other clients may share them.
        ///
        /// - Parameters:
        ///   - factory: The factory to which the client reports. Default: the factory that the program has set up.
        ///   - dimensions: The dimensions that distinguish this client's metrics from other clients' metrics. Default:
        ///     none, so the numbers of all clients add up.
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
        /// Reports the changes. Call this method on the event loop, and not under the lock.
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
            // The next report waits for another turn of the loop, because a factory that causes new changes each time
            // must not block all other work.
            if loopState.value.hasMoreMetrics { inAnotherTurn { self.tellMetrics() } }
        }
    }
#endif
