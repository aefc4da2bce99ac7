import Foundation
import NIOCore
import Workload

/// The sessions of the HTTP transports. The key is the path up to the session's name. Only the event loop uses them.
final class TransportSessions {
    private var sessions: [Substring: TransportSession] = [:]

    /// The session of a request; `nil` if the request is not for an HTTP transport.
    fileprivate func session(of path: Substring) -> (TransportSession, verb: Substring)? {
        let path = path.prefix { $0 != "?" }
        guard let end = path.lastIndex(of: "/") else { return nil }
        let name = path[..<end]
        if sessions[name] == nil {
            guard let workload = Workload(path: String(name)) else { return nil }
            sessions[name] = TransportSession(workload)
        }
        return sessions[name].map { ($0, path[path.index(after: end)...]) }
    }

    fileprivate func end(_ session: TransportSession) {
        sessions = sessions.filter { $0.value !== session }
    }
}

/// One TCP connection with requests of HTTP transports, one after the other.
final class TransportHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let sessions: TransportSessions
    private var received = ByteBuffer()
    /// The session whose stream this connection carries.
    private var stream: TransportSession?

    init(_ sessions: TransportSessions) { self.sessions = sessions }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received.writeImmutableBuffer(unwrapInboundIn(data))
        while let (path, body) = takeRequest() { respond(to: path, body, context: context) }
        if received.readableBytes == 0 { received.clear() }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        stream?.pump()
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        if let stream, stream.lose(context) { sessions.end(stream) }
        stream = nil
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func takeRequest() -> (path: Substring, body: [UInt8])? {
        let bytes = received.readableBytesView
        let size = received.withUnsafeReadableBytes { AuthorizationHandler.requestSize($0) }
        guard let size, bytes.count >= size.head + size.body else { return nil }
        let head = String(decoding: bytes.prefix(size.head), as: UTF8.self)
        let body = Array(bytes.dropFirst(size.head).prefix(size.body))
        received.moveReaderIndex(forwardBy: size.head + size.body)
        let parts = head.split(separator: " ", maxSplits: 2)
        return parts.count > 1 ? (parts[1], body) : nil
    }

    private func respond(to path: Substring, _ body: [UInt8], context: ChannelHandlerContext) {
        guard let (session, verb) = sessions.session(of: path) else { return context.close(promise: nil) }
        switch verb {
        case "xhr_streaming":
            stream = session
            session.attach(context)
        default:
            let answer = ByteBuffer(string: "HTTP/1.1 204 No Content\r\n\r\n")
            context.writeAndFlush(wrapOutboundOut(answer), promise: nil)
            session.received(body)
        }
    }
}

/// A connection over HTTP streaming: the greeting, the answers to subscriptions, and then the requested events. The
/// session moves to another response at the end of the frame that exceeds 256 KiB.
private final class TransportSession {
    private let workload: Workload
    private let frames: EventFrames?
    private var context: ChannelHandlerContext?
    /// The size of the current response, in bytes.
    private var size = 0
    private var isOpen = false
    private var answers = ""
    private var subscribed = 0
    private var next = 0
    private var remaining: Int
    private var credit: Int

    private static let limit = 256 * 1_024

    init(_ workload: Workload) {
        self.workload = workload
        frames = workload.events > 0 ? EventFrames(linesOf: workload) : nil
        remaining = workload.events
        credit = workload.window == 0 ? .max : workload.window
    }

    func attach(_ context: ChannelHandlerContext) {
        if let old = self.context { old.writeAndFlush(NIOAny(ByteBuffer(string: "0\r\n\r\n")), promise: nil) }
        self.context = context
        size = 0
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/javascript\r\nTransfer-Encoding: chunked\r\n\r\n"
        context.write(NIOAny(ByteBuffer(string: head)), promise: nil)
        if !isOpen {
            isOpen = true
            answers += "o\n"
            let greeting = #"{"socket_id":"1234.5678","activity_timeout":120}"#
            answer(#"{"event":"pusher:connection_established","data":"\#(Payload.escaped(greeting))"}"#)
        }
        pump()
        context.flush()
    }

    /// Returns whether the lost stream was the session's current stream.
    func lose(_ context: ChannelHandlerContext) -> Bool {
        guard self.context === context else { return false }
        self.context = nil
        return true
    }

    func received(_ body: [UInt8]) {
        let messages = try? JSONSerialization.jsonObject(with: Data(body)) as? [String]
        for message in messages ?? [] {
            if message.hasPrefix(#"{"event":"pusher:subscribe""#), let start = message.range(of: #""channel":""#) {
                subscribe(message[start.upperBound...].prefix { $0 != "\"" })
            } else if message.hasPrefix(#"{"event":"pusher:ping""#) {
                answer(#"{"event":"pusher:pong","data":"{}"}"#)
            }
        }
        pump()
    }

    private func subscribe(_ channel: Substring) {
        guard !channel.hasPrefix(Workload.goAheadPrefix) else {
            credit += workload.window / 2
            return
        }
        answer(#"{"event":"pusher_internal:subscription_succeeded","channel":"\#(channel)","data":"{}"}"#)
        subscribed += 1
    }

    private func answer(_ message: String) { answers += "a[\"\(Payload.escaped(message))\"]\n" }

    func pump() {
        guard let context else { return }
        if !answers.isEmpty {
            write(ByteBuffer(string: answers), context)
            answers = ""
        }
        while subscribed >= workload.channels, let frames, remaining > 0, credit > 0, size <= Self.limit,
            context.channel.isWritable
        {
            // The last frame may exceed the limit.
            let most = (Self.limit - size) / frames.frameSize + 1
            let slice = frames.slice(from: next, count: min(most, remaining, credit))
            write(slice.bytes, context)
            next = (next + slice.count) % frames.count
            remaining -= slice.count
            if workload.window > 0 { credit -= slice.count }
            if !context.channel.isWritable { context.flush() }
        }
        context.flush()
    }

    private func write(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        size += bytes.readableBytes
        context.write(NIOAny(ByteBuffer(string: String(bytes.readableBytes, radix: 16) + "\r\n")), promise: nil)
        context.write(NIOAny(bytes), promise: nil)
        context.write(NIOAny(ByteBuffer(string: "\r\n")), promise: nil)
    }
}
