#if ServiceLifecycle
    import Logging
    import PusherClient
    import ServiceLifecycle

    extension Production {
        static func serve(_ pusher: Pusher, beside worker: any Service, logger: Logger) async throws {
            let group = ServiceGroup(
                services: [pusher, worker],
                gracefulShutdownSignals: [.sigterm],
                logger: logger
            )
            try await group.run()
        }
    }

    /// A service that ends as soon as there is a connection.
    struct Worker: Service {
        struct Done: Error {}

        let pusher: Pusher

        func run() async throws {
            try await pusher.connected()
            throw Done()
        }
    }
#endif
