extension PusherTestServer.Record: CustomStringConvertible {
    /// One line with the index, the socket id and the event. Long messages are cut. Of an HTTP request, the line
    /// contains only the method and the path.
    public var description: String {
        let line = "#\(index) \(socketID ?? "-") \(event.line)"
        return line.count <= Self.lengthLimit ? line : line.prefix(Self.lengthLimit) + "…"
    }

    private static let lengthLimit = 240
}

extension PusherTestServer.Record.Event {
    fileprivate var line: String {
        switch self {
        case .connectionRequested(let request): "connectionRequested \(request.method) \(request.path)"
        case .authorizationRequested(let request): "authorizationRequested \(request.method) \(request.path)"
        case .requestAnswered(let request, let status): "requestAnswered \(request.method) \(request.path) \(status)"
        case .messageReceived(let text): "messageReceived \(text)"
        case .messageSent(let text): "messageSent \(text)"
        case .binaryReceived(let bytes): "binaryReceived \(bytes.count) bytes"
        default: String(describing: self)
        }
    }
}
