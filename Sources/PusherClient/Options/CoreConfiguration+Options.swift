import RealtimeNetworking

extension CoreConfiguration {
    init(_ endpoint: Endpoint, options: PusherClientOptions, proxies: ProxyRules = .direct) {
        self.init(
            endpoint: Result { () throws(PusherClientError) in
                try endpoint.request(options: options, proxies: proxies)
            }
        )
        autoReconnect = options.autoReconnect
        hasWebSocketOnly = !options.transports.hasHTTP
        timeouts = options.timeouts.clamped
        authorizationsAtOnce = options.limits.authorizationsAtOnce
        authorizationTries = options.limits.authorizationTries
        channels = options.limits.channels
        members.count = options.limits.members
        members.size = options.limits.messageSize
        heldEncryptedEvents = options.limits.heldEncryptedEvents
        heldEncryptedSize = options.limits.listenerBufferSize
        if options.secretBox != nil { boxOpener = .app }
        queuedClientEvents = options.limits.queuedClientEvents
        clientEventsPerSecond = options.limits.clientEventsPerSecond
        // PusherSwift's limit applies to the default policy. Any other policy has its own limits.
        if (options.retryPolicy as? StandardRetryPolicy)?.isDefault != true { maximumRetryDelay = nil }
        if let timeout = options.activityTimeout.flatMap({ Duration(timeInterval: $0) }) { activityTimeout = timeout }
    }
}
