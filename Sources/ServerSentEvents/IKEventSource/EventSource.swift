public import Foundation
import RealtimeHTTP
import RealtimeNetworking

/// The state of an ``EventSource``.
public enum EventSourceState: Sendable {
    /// The event source connects.
    case connecting
    /// The server has accepted the request.
    case open
    /// There is no connection.
    case closed
}

/// The interface of ``EventSource``, for code that uses another implementation in its tests.
@preconcurrency public protocol EventSourceProtocol: Sendable {
    /// The header fields of the request.
    var headers: [String: String] { get }
    /// The server's reconnection time in milliseconds.
    var retryTime: Int { get }
    /// The URL of the stream.
    var url: URL { get }
    /// The id of the last event that had an id.
    var lastEventId: String? { get }
    /// The state of the event source.
    var readyState: EventSourceState { get }

    /// Connects.
    func connect(lastEventId: String?)
    /// Disconnects.
    func disconnect()
    /// The types of events that have a listener.
    func events() -> [String]
    /// Sets the callback that runs when the server has accepted the request.
    @preconcurrency func onOpen(_ onOpenCallback: @escaping @Sendable () -> Void)
    /// Sets the callback that runs when a connection has ended or an attempt to connect has failed.
    @preconcurrency func onComplete(_ onComplete: @escaping @Sendable (Int?, Bool?, NSError?) -> Void)
    /// Sets the callback for events without a type or of the type `message`.
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

/// An event stream with the interface of IKEventSource 3. Code written for IKEventSource compiles after you change the
/// import.
///
/// The event source connects when you call ``connect(lastEventId:)``. The event source does not reconnect. To
/// reconnect, call ``connect(lastEventId:)`` in ``onComplete(_:)``, after ``retryTime``. All callbacks run on the main
/// queue, one after the other. When you release the event source, it disconnects without a callback. New code should
/// use ``EventStream``, which reconnects.
public final class EventSource: EventSourceProtocol {
    typealias Callback = @Sendable (_ id: String?, _ event: String?, _ data: String?) -> Void

    /// The URL of the stream.
    public let url: URL
    /// The header fields of the request.
    public let headers: [String: String]
    private let core: EventSourceCore

    /// Creates an event source, without connecting.
    ///
    /// - Parameters:
    ///   - url: An `http` or `https` URL.
    ///   - headers: Header fields to send. If a redirect leads to another origin, the event source does not send
    ///     `Authorization`, `Cookie`, `Host` and `Proxy-Authorization` to that origin.
    public convenience init(url: URL, headers: [String: String] = [:]) {
        self.init(url: url, headers: headers, connector: EventStreamConnector())
    }

    /// Creates an event source for tests without a network.
    package init(url: URL, headers: [String: String], connector: EventStreamConnector) {
        self.url = url
        self.headers = headers
        let fields = HTTPHeaderFields(
            headers.sorted { $0.key < $1.key }.map { HTTPHeader(name: $0.key, value: $0.value) }
        )
        core = EventSourceCore(EventStreamRequest(url.absoluteString, headers: fields), connector: connector)
    }

    deinit { core.release() }

    /// The id of the last event that had an id; `nil` if no event had one, or if the server has cleared the id.
    public var lastEventId: String? { core.lastEventID.isEmpty ? nil : core.lastEventID }

    /// The server's reconnection time in milliseconds, up to 10 minutes. Default: 3000.
    public var retryTime: Int { core.retryTime }

    /// The state of the event source. The state is ``EventSourceState/closed`` before the event source connects, after
    /// ``disconnect()``, and after the connection has ended. The state is already closed when the callback of
    /// ``onComplete(_:)`` runs, unless your code has connected again before.
    public var readyState: EventSourceState { core.readyState }

    /// Connects. The call has no effect unless the event source is closed.
    ///
    /// - Parameter lastEventId: The id of the event after which the server resumes. Default: none.
    public func connect(lastEventId: String? = nil) { core.connect(lastEventID: lastEventId ?? "") }

    /// Disconnects. Afterwards the event source calls only ``onComplete(_:)``, with an error whose code is
    /// `NSURLErrorCancelled`. Your code can connect again at once.
    public func disconnect() { core.disconnect() }

    /// The types of events that have a listener.
    public func events() -> [String] { core.callbacks { Array($0.listeners.keys) } }

    /// Sets the callback that runs when the server has answered with status 200 and an event stream.
    @preconcurrency
    public func onOpen(_ onOpenCallback: @escaping @Sendable () -> Void) {
        core.callbacks { $0.onOpen = onOpenCallback }
    }

    /// Sets the callback that runs when a connection has ended or an attempt to connect has failed.
    ///
    /// The callback gets three values. The first value is the HTTP status, if there was a response. The second value is
    /// `true` if the status is from 201 to 299 but not 204. In that case, your code should reconnect. If there was no
    /// response, the first and the second value are `nil`. The third value is the error. It is `nil` if the server has
    /// completed the event stream, or has answered with status 204. If a connection is lost after status 200, the
    /// second value is `false`, and the third value is an error.
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

    /// Sets the callback for events of a type. A later listener for the same type replaces the earlier listener.
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

/// Variants of the methods above whose callbacks are isolated to the main actor, for Swift 6.
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

extension EventSource: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The URL without user, password and query. Header fields and queries may be secret.
    public var description: String { "EventSource(\(HTTPRequest.printable(url: url.absoluteString)))" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
