public import Foundation
import RealtimeNetworking

/// The state of an ``EventSource``.
public enum EventSourceState: Sendable {
    /// It connects.
    case connecting
    /// The server has accepted the request.
    case open
    /// There is no connection.
    case closed
}

/// The interface of ``EventSource``, for code that uses another implementation in tests.
@preconcurrency public protocol EventSourceProtocol: Sendable {
    /// The header fields of the request.
    var headers: [String: String] { get }
    /// The server's reconnection time in milliseconds.
    var retryTime: Int { get }
    /// The id of the last event that had one.
    var lastEventId: String? { get }
    /// The state of the event source.
    var readyState: EventSourceState { get }

    /// Connects.
    func connect(lastEventId: String?)
    /// Disconnects.
    func disconnect()
    /// The types of events that have a listener.
    func events() -> [String]
    /// Sets the callback for when the server has accepted the request.
    @preconcurrency func onOpen(_ onOpenCallback: @escaping @Sendable () -> Void)
    /// Sets the callback for when a connection has ended, or has failed.
    @preconcurrency func onComplete(_ onComplete: @escaping @Sendable (Int?, Bool?, NSError?) -> Void)
    /// Sets the callback for events without a type.
    @preconcurrency func onMessage(
        _ onMessageCallback: @escaping @Sendable (_ id: String?, _ event: String?, _ data: String?) -> Void
    )
    /// Sets the callback for events of a type.
    @preconcurrency func addEventListener(
        _ event: String,
        handler: @escaping @Sendable (_ id: String?, _ event: String?, _ data: String?) -> Void
    )
    /// Removes the callback for events of a type.
    func removeEventListener(_ event: String)
}

/// An event stream with the interface of IKEventSource 3: code written for it compiles after changing the import.
///
/// It connects when you call ``connect(lastEventId:)``, and does not reconnect: call it again in ``onComplete(_:)``,
/// after ``retryTime``. All callbacks run on the main queue, one after the other. Releasing the event source
/// disconnects it, without a callback. New code should use ``EventStream``, which reconnects.
public final class EventSource: EventSourceProtocol {
    typealias Callback = @Sendable (_ id: String?, _ event: String?, _ data: String?) -> Void

    /// The URL of the stream.
    public let url: URL
    /// The header fields of the request.
    public let headers: [String: String]
    private let core: EventSourceCore

    /// Creates an event source. It does not connect yet.
    ///
    /// - Parameters:
    ///   - url: An `http` or `https` URL.
    ///   - headers: Header fields to send. If a redirect leads to another origin, `Authorization`, `Cookie`, `Host` and
    ///     `Proxy-Authorization` are not sent there.
    public convenience init(url: URL, headers: [String: String] = [:]) {
        self.init(url: url, headers: headers, connector: EventStreamConnector())
    }

    /// Creates one for tests without a network.
    package init(url: URL, headers: [String: String], connector: EventStreamConnector) {
        self.url = url
        self.headers = headers
        let fields = headers.sorted { $0.key < $1.key }.map { HTTPHeader(name: $0.key, value: $0.value) }
        core = EventSourceCore(EventStreamRequest(url.absoluteString, headers: fields), connector: connector)
    }

    deinit { core.release() }

    /// The id of the last event that had one; `nil` if there was none, or if the server has cleared it.
    public var lastEventId: String? { core.lastEventID.isEmpty ? nil : core.lastEventID }

    /// The server's reconnection time in milliseconds, up to 10 minutes. Default: 3000.
    public var retryTime: Int { core.retryTime }

    /// The state of the event source. It is ``EventSourceState/closed`` before it connects, after ``disconnect()``, and
    /// when ``onComplete(_:)`` is called, unless your code has connected again by then.
    public var readyState: EventSourceState { core.readyState }

    /// Connects. It has no effect unless the event source is closed.
    ///
    /// - Parameter lastEventId: The id of the event after which the server is asked to resume. Default: none.
    public func connect(lastEventId: String? = nil) { core.connect(lastEventID: lastEventId ?? "") }

    /// Disconnects. Only ``onComplete(_:)`` is called, with an error of the code `NSURLErrorCancelled`. Your code can
    /// connect again at once.
    public func disconnect() { core.disconnect() }

    /// The types of events that have a listener.
    public func events() -> [String] { core.callbacks { Array($0.listeners.keys) } }

    /// Sets the callback for when the server has accepted the request, with status 200 and an event stream.
    @preconcurrency
    public func onOpen(_ onOpenCallback: @escaping @Sendable () -> Void) {
        core.callbacks { $0.onOpen = onOpenCallback }
    }

    /// Sets the callback for the end of each connection, also if it failed.
    ///
    /// The callback gets the HTTP status, if there was a response; whether the status asks to reconnect, which is `true` for 201
    /// to 299 without 204; and the error, unless the server has completed the response. A connection that was lost after
    /// status 200 has `false` and an error.
    @preconcurrency
    public func onComplete(_ onComplete: @escaping @Sendable (Int?, Bool?, NSError?) -> Void) {
        core.callbacks { $0.onComplete = onComplete }
    }

    /// Sets the callback for events without a type or of the type `message`.
    @preconcurrency
    public func onMessage(
        _ onMessageCallback: @escaping @Sendable (_ id: String?, _ event: String?, _ data: String?) -> Void
    ) {
        core.callbacks { $0.onMessage = onMessageCallback }
    }

    /// Sets the callback for events of a type. A type has one listener: the last one that was set.
    @preconcurrency
    public func addEventListener(
        _ event: String,
        handler: @escaping @Sendable (_ id: String?, _ event: String?, _ data: String?) -> Void
    ) {
        core.callbacks { $0.listeners[event] = handler }
    }

    /// Removes the callback for events of a type.
    public func removeEventListener(_ event: String) { core.callbacks { $0.listeners[event] = nil } }
}

/// For owners that are bound to the main actor, in Swift 6.
extension EventSource {
    /// Does the same as ``onOpen(_:)``.
    public func onOpenOnMain(_ callback: @escaping @MainActor @Sendable () -> Void) {
        onOpen { MainActor.assumeIsolated { callback() } }
    }

    /// Does the same as ``onComplete(_:)``.
    public func onCompleteOnMain(
        _ callback: @escaping @MainActor @Sendable (Int?, Bool?, NSError?) -> Void
    ) {
        onComplete { status, reconnect, error in
            MainActor.assumeIsolated { callback(status, reconnect, error) }
        }
    }

    /// Does the same as ``onMessage(_:)``.
    public func onMessageOnMain(
        _ callback: @escaping @MainActor @Sendable (_ id: String?, _ event: String?, _ data: String?) -> Void
    ) {
        onMessage { id, event, data in MainActor.assumeIsolated { callback(id, event, data) } }
    }

    /// Does the same as ``addEventListener(_:handler:)``.
    public func addEventListenerOnMain(
        _ event: String,
        handler: @escaping @MainActor @Sendable (_ id: String?, _ event: String?, _ data: String?) -> Void
    ) {
        addEventListener(event) { id, event, data in MainActor.assumeIsolated { handler(id, event, data) } }
    }
}
