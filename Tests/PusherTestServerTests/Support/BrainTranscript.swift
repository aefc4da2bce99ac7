import PusherProtocol

@testable import PusherTestServer

typealias Options = PusherTestServer.Options
typealias Dialect = PusherTestServer.Dialect
typealias Request = PusherTestServer.Request

/// A brain with methods that make one call per client message. The results of these methods do not contain records.
struct BrainTranscript {
    var brain: ServerBrain

    init(_ change: (inout Options) -> Void = { _ in }) {
        var options = Options()
        change(&options)
        brain = ServerBrain(options: options, socketIDPrefix: 7)
    }

    mutating func connect(_ number: Int, _ target: String = "/app/app-key?protocol=7") -> [ServerAction] {
        brain.connectionRequested(id(number), Request(target: target)).withoutRecords
    }

    mutating func text(_ number: Int, _ text: String) -> [ServerAction] {
        brain.received(.text(text), on: id(number)).withoutRecords
    }

    mutating func receive(_ number: Int, _ message: ClientMessage) -> [ServerAction] {
        brain.received(message, on: id(number)).withoutRecords
    }

    mutating func subscribe(_ number: Int, _ channel: String) -> [ServerAction] {
        text(number, Envelope.subscribe(channel: channel).jsonText)
    }

    mutating func unsubscribe(_ number: Int, _ channel: String) -> [ServerAction] {
        text(number, Envelope.unsubscribe(channel: channel).jsonText)
    }

    mutating func fire(_ timer: Int) -> [ServerAction] {
        brain.timerFired(TimerID(rawValue: timer)).withoutRecords
    }

    mutating func publish(_ name: String, _ data: String, _ channels: [String], excluding: String? = nil) throws
        -> [ServerAction]
    {
        brain.publish(try PublishedEvent(name: name, data: data, channels: channels, socketID: excluding))
            .withoutRecords
    }
}

func id(_ number: Int) -> ConnectionID { ConnectionID(rawValue: number) }
func timer(_ number: Int) -> TimerID { TimerID(rawValue: number) }

extension ServerAction {
    static func accept(_ number: Int) -> Self { .accept(id(number), subprotocol: nil) }
    static func send(_ number: Int, _ text: String) -> Self { .send(id(number), .text(text)) }
    static func close(_ number: Int, _ code: Int?, _ reason: String) -> Self {
        .send(id(number), .close(code: code, reason: reason))
    }
    static func end(_ number: Int) -> Self { .end(id(number)) }
    static func established(_ number: Int, activityTimeout: Int = 120) -> Self {
        let data = #"{\"socket_id\":\"7.\#(number)\",\"activity_timeout\":\#(activityTimeout)}"#
        return .send(number, #"{"event":"pusher:connection_established","data":"\#(data)"}"#)
    }
    static func succeeded(_ number: Int, _ channel: String) -> Self {
        .send(
            number,
            #"{"event":"pusher_internal:subscription_succeeded","data":"{}","channel":"\#(channel)"}"#
        )
    }
    static func error(_ number: Int, _ message: String, code: String = "null") -> Self {
        .send(number, #"{"event":"pusher:error","data":{"code":\#(code),"message":"\#(message)"}}"#)
    }
}

extension [ServerAction] {
    var withoutRecords: [ServerAction] {
        filter { action in
            if case .record = action { false } else { true }
        }
    }

    /// The names of the events in the text messages.
    var events: [String] {
        compactMap { action in
            guard case .send(_, .text(let text)) = action else { return nil }
            return (try? Envelope(decoding: text))?.event ?? "?"
        }
    }
}
