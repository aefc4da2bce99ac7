import Foundation
import ServerSentEvents

/// A screen of an app that uses IKEventSource.
class FeedViewController {
    var eventSource: EventSource?
    var lines: [String] = []
    var isConnected = false
    var reconnects = 0
    var isFinished: (() -> Void)?

    func viewDidLoad(serverURL: URL) {
        eventSource = EventSource(url: serverURL, headers: ["Authorization": "Basic abc"])

        eventSource?.onOpen { [weak self] in
            self?.isConnected = true
        }

        eventSource?.onComplete { [weak self] statusCode, reconnect, error in
            self?.isConnected = false
            guard reconnect ?? false else {
                self?.isFinished?()
                return
            }
            let retryTime = self?.eventSource?.retryTime ?? 3000
            DispatchQueue.main.asyncAfter(deadline: .now() + .milliseconds(retryTime)) { [weak self] in
                self?.reconnects += 1
                self?.eventSource?.connect(lastEventId: self?.eventSource?.lastEventId)
            }
        }

        eventSource?.onMessage { [weak self] id, event, data in
            self?.updateLabels(id, event: event, data: data)
        }

        eventSource?.addEventListener("user-connected") { [weak self] id, event, data in
            self?.updateLabels(id, event: event, data: data)
        }

        eventSource?.connect()
    }

    func updateLabels(_ id: String?, event: String?, data: String?) {
        lines.append("\(id ?? "-") \(event ?? "-") \(data ?? "-")")
    }
}

/// An event source without a server, for tests of an app.
final class SilentSource: EventSourceProtocol {
    let headers: [String: String] = [:]
    let retryTime = 3000
    let url: URL
    let lastEventId: String? = nil
    let readyState = EventSourceState.closed

    init(url: URL) { self.url = url }

    func connect(lastEventId: String?) {}
    func disconnect() {}
    func events() -> [String] { [] }
    func onOpen(_ onOpenCallback: @escaping (() -> Void)) {}
    func onComplete(_ onComplete: @escaping ((Int?, Bool?, NSError?) -> Void)) {}
    func onMessage(_ onMessageCallback: @escaping ((_ id: String?, _ event: String?, _ data: String?) -> Void)) {}
    func addEventListener(
        _ event: String,
        handler: @escaping ((_ id: String?, _ event: String?, _ data: String?) -> Void)
    ) {}
    func removeEventListener(_ event: String) {}
}
