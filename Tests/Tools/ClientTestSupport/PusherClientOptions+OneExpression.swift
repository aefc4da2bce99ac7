package import Foundation
package import Logging
package import PusherClient

extension PusherClientOptions {
    /// Creates options in one expression. Apps create options and then set their properties.
    package convenience init(
        endpoint: PusherEndpoint? = nil,
        authMethod: AuthMethod = .noMethod,
        autoReconnect: Bool = true,
        host: PusherHost = .defaultHost,
        port: Int? = nil,
        path: String? = nil,
        useTLS: Bool = true,
        activityTimeout: TimeInterval? = nil,
        userAuthMethod: UserAuthMethod = .noMethod,
        timeouts: PusherTimeouts = PusherTimeouts(),
        retryPolicy: any RetryPolicy = .exponential(),
        requestRetryPolicy: any RetryPolicy = .exponential(),
        clientEventEncoding: ClientEventEncoding = .json,
        payloadTransformer: (any PayloadTransformer)? = nil,
        tls: TLSOptions = TLSOptions(),
        proxy: HTTPProxy = .environment,
        transports: PusherTransports = .webSocket,
        headers: [String: String] = [:],
        queryItems: [URLQueryItem] = [],
        subprotocol: String? = nil,
        limits: Limits = Limits(),
        callbackQueue: CallbackQueue = .main,
        logger: Logger? = nil
    ) {
        self.init(endpoint: endpoint ?? PusherEndpoint(host: host.stringValue, port: port, path: path, useTLS: useTLS))
        self.authMethod = authMethod
        self.autoReconnect = autoReconnect
        self.activityTimeout = activityTimeout
        self.userAuthMethod = userAuthMethod
        self.timeouts = timeouts
        self.retryPolicy = retryPolicy
        self.requestRetryPolicy = requestRetryPolicy
        self.clientEventEncoding = clientEventEncoding
        self.payloadTransformer = payloadTransformer
        self.tls = tls
        self.proxy = proxy
        self.transports = transports
        self.headers = headers
        self.queryItems = queryItems
        self.subprotocol = subprotocol
        self.limits = limits
        self.callbackQueue = callbackQueue
        if let logger { self.logger = logger }
    }
}

extension PusherClientOptions.Limits {
    /// Creates limits in one expression.
    package init(
        messageSize: Int = PusherClientOptions.Limits().messageSize,
        sequenceBuffer: Int = PusherClientOptions.Limits().sequenceBuffer,
        pendingCallbacks: Int = PusherClientOptions.Limits().pendingCallbacks,
        listenerBufferSize: Int = PusherClientOptions.Limits().listenerBufferSize,
        totalBufferSize: Int = PusherClientOptions.Limits().totalBufferSize,
        authorizationsAtOnce: Int = PusherClientOptions.Limits().authorizationsAtOnce,
        authorizationTries: Int? = PusherClientOptions.Limits().authorizationTries,
        authorizationResponseSize: Int = PusherClientOptions.Limits().authorizationResponseSize,
        queuedClientEvents: Int = PusherClientOptions.Limits().queuedClientEvents,
        clientEventsPerSecond: Int? = PusherClientOptions.Limits().clientEventsPerSecond,
        clientEventSize: Int = PusherClientOptions.Limits().clientEventSize,
        heldEncryptedEvents: Int = PusherClientOptions.Limits().heldEncryptedEvents,
        channels: Int = PusherClientOptions.Limits().channels,
        bindings: Int = PusherClientOptions.Limits().bindings,
        members: Int = PusherClientOptions.Limits().members,
        sendBufferSize: Int = PusherClientOptions.Limits().sendBufferSize
    ) {
        self.init()
        self.messageSize = messageSize
        self.sequenceBuffer = sequenceBuffer
        self.pendingCallbacks = pendingCallbacks
        self.listenerBufferSize = listenerBufferSize
        self.totalBufferSize = totalBufferSize
        self.authorizationsAtOnce = authorizationsAtOnce
        self.authorizationTries = authorizationTries
        self.authorizationResponseSize = authorizationResponseSize
        self.queuedClientEvents = queuedClientEvents
        self.clientEventsPerSecond = clientEventsPerSecond
        self.clientEventSize = clientEventSize
        self.heldEncryptedEvents = heldEncryptedEvents
        self.channels = channels
        self.bindings = bindings
        self.members = members
        self.sendBufferSize = sendBufferSize
    }
}

extension PusherTimeouts {
    /// Creates timeouts in one expression.
    package init(
        connectionAttempt: Duration = PusherTimeouts().connectionAttempt,
        unavailable: Duration = PusherTimeouts().unavailable,
        pong: Duration = PusherTimeouts().pong,
        subscription: Duration = PusherTimeouts().subscription,
        authorization: Duration = PusherTimeouts().authorization,
        signIn: Duration = PusherTimeouts().signIn,
        closing: Duration = PusherTimeouts().closing,
        backOffReset: Duration = PusherTimeouts().backOffReset
    ) {
        self.init()
        self.connectionAttempt = connectionAttempt
        self.unavailable = unavailable
        self.pong = pong
        self.subscription = subscription
        self.authorization = authorization
        self.signIn = signIn
        self.closing = closing
        self.backOffReset = backOffReset
    }
}
