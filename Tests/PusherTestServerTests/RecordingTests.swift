import Foundation
import PusherTestServer
import TestTraits
import Testing

@Suite("Recordings", .limited)
struct RecordingTests {
    private typealias Recording = PusherTestServer.Recording

    private static let header = #"{"recording":"pusher","version":1}"#

    @Test("a recording survives its text, with every kind of data, to the microsecond")
    func roundTrip() throws {
        let recording = Recording(events: [
            .init(time: .zero, channel: "orders", name: "created", data: #"{"text":"ä \"x\"\n</b>","id":1}"#),
            .init(time: .microseconds(1), channel: "orders", name: #"App\Events\Paid"#, data: ""),
            .init(time: .milliseconds(1_250), channel: "presence-a", name: "client-x", data: "[1]", userID: "ü"),
            .init(time: .seconds(86_400), channel: "orders", name: "empty"),
        ])
        #expect(try Recording(text: recording.text) == recording)
        let lines = recording.text.split(separator: "\n")
        #expect(lines.count == 5)
        #expect(lines[0] == Self.header)
        #expect(
            lines[3]
                == #"{"time":1.250000,"channel":"presence-a","event":"client-x","user_id":"ü","data":"[1]"}"#
        )
        #expect(try Recording(text: Self.header).events == [])
    }

    @Test("a recording may have empty lines, Windows line breaks, other members and whole seconds")
    func tolerant() throws {
        let text =
            "\n" + Self.header + "\r\n\r\n"
            + #"{"time": 2, "channel":"a","event":"e","data":null,"comment":{}}"# + "\r\n"
        #expect(try Recording(text: text).events == [.init(time: .seconds(2), channel: "a", name: "e")])
    }

    @Test(
        "an invalid line is an error with its number and the reason",
        arguments: [
            ("", "it is empty"),
            ("{}", "line 1 is not the header"),
            (#"{"time":1,"channel":"a","event":"e"}"#, "line 1 is not the header"),
            (#"{"recording":"pusher","version":2}"#, "it has the version 2, and this program reads version 1"),
            (header + "\n" + #"{"time":1,"channel":"a","event":"e""#, "line 2 is not a JSON object"),
            (header + "\n[]", "line 2 is not a JSON object"),
            (header + "\n\n" + #"{"channel":"a","event":"e"}"#, "line 3 has no time"),
            (header + "\n" + #"{"time":-1,"channel":"a","event":"e"}"#, "line 2 has no time"),
            (header + "\n" + #"{"time":1e300,"channel":"a","event":"e"}"#, "line 2 has no time"),
            (header + "\n" + #"{"time":"1","channel":"a","event":"e"}"#, "line 2 has no time"),
            (header + "\n" + #"{"time":1,"event":"e"}"#, "line 2 has no channel"),
            (header + "\n" + #"{"time":1,"channel":"a"}"#, "line 2 has no event"),
            (
                header + "\n" + #"{"time":1,"channel":"a","event":"e","data":{}}"#,
                "line 2 has data that is not a string"
            ),
        ]
    )
    func invalid(text: String, reason: String) throws {
        let error = try #require(throws: PusherTestServer.ServerError.self) { try Recording(text: text) }
        #expect(error.code == .invalidRecording)
        #expect(error.message.hasPrefix("Invalid recording: \(reason)"), "\(error.message)")
    }

    @Test("a file is read, and a missing file or one that is not UTF-8 is an error")
    func files() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("recording.jsonl")
        let recording = Recording(events: [.init(time: .seconds(1), channel: "a", name: "e", data: "1")])
        try Data(recording.text.utf8).write(to: file)
        #expect(try Recording(contentsOfFile: file.path) == recording)
        try Data([0xFF, 0xFE]).write(to: file)
        for path in [file.path, folder.appendingPathComponent("missing").path] {
            let error = try #require(throws: PusherTestServer.ServerError.self) {
                try Recording(contentsOfFile: path)
            }
            #expect(error.code == .invalidRecording)
        }
    }
}
