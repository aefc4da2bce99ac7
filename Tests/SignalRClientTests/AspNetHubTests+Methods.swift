import Foundation
import SignalRClient
import TestSupport
import TestTraits
import Testing

extension AspNetHubTests {
    /// .NET writes an enumeration as a number in JSON, and as a name in MessagePack.
    enum Mood: String, CaseIterable, Codable, Sendable {
        case calm = "Calm"
        case merry = "Merry"
        case cross = "Cross"

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            let isNamed = decoder.isMsgpackDecoder()
            let mood =
                isNamed
                ? Mood(rawValue: try container.decode(String.self)) : Self.allCases[try container.decode(Int.self)]
            self = try #require(mood)
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            if encoder.isMsgpackEncoder() {
                try container.encode(rawValue)
            } else {
                try container.encode(Self.allCases.firstIndex(of: self))
            }
        }
    }

    /// The hub's record, in which a person has a friend.
    struct Person<Friend: Codable & Equatable & Sendable>: Codable, Equatable, Sendable {
        var name: String
        var age: Int
        var born = Date(timeIntervalSince1970: 0)
        var balance: Decimal
        var tags: [String] = []
        var friend: Friend?
        var scores: [String: Int]?
        var photo: Data?
        var mood = Mood.calm
        var id = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
    }

    typealias Guest = Person<Person<Never>>

    /// `-79228162514264337593543950.335` has all digits of a .NET decimal.
    static let ada = Guest(
        name: "Adä",
        age: 36,
        born: Date(timeIntervalSince1970: -4_864_838_400.25),
        balance: Decimal(string: "-79228162514264337593543950.335") ?? 0,
        tags: ["", "x"],
        friend: Person(name: "Bob", age: -1, balance: 0, photo: Data(), mood: .cross),
        scores: ["Best": 7, "": 0],
        photo: Data(0...255),
        mood: .merry,
        id: UUID()
    )

    @Test("records arrive with all members, alone, in lists, in streams and in calls of the hub", arguments: routes)
    func records(_ route: Route) async throws {
        try await withHub(route, "hub", { $0.withMessagePackKeys(.pascalCase) }) { connection in
            var older = Self.ada
            older.age += 1
            let answer: Guest = try await connection.invoke(method: "Birthday", arguments: Self.ada)
            #expect(answer == older)
            let people = [Self.ada, nil, older]
            let same: [Guest?] = try await connection.invoke(method: "People", arguments: people)
            #expect(same == people)
            let stream = try await connection.stream("PeopleStream", 3, of: Guest.self)
            let streamed = try await stream.reduce(into: []) { $0.append($1) }
            #expect(
                streamed
                    == (0..<3).map { number in
                        Guest(name: "P\(number)", age: number, balance: Decimal(1) / 10, photo: Data([1, 2]))
                    }
            )
            let calls = connection.messages(of: "Many", as: (Int, String, Guest).self)
            try await connection.send(method: "Many", arguments: "Many", 100)
            var next = 0
            for await (number, text, guest) in calls {
                #expect(number == next && text == "text \(next)")
                #expect(guest == Guest(name: "P\(next)", age: next, balance: 1.5, tags: ["a"], mood: .merry))
                next += 1
                if next == 100 { break }
            }
            #expect(next == 100)
        }
    }

    @Test("errors of methods and of arguments name the reason", arguments: routes)
    func errors(_ route: Route) async throws {
        try await withHub(route) { connection in
            let text: String = try await connection.invoke(method: "Optional", arguments: "a", "b")
            #expect(text == "ab")
            let misfits: [(String, [String], String)] = [
                ("Throw", ["boom"], "InvalidOperationException: boom"),
                ("Optional", ["a"], "provides 1 argument(s) but target expects 2"),
                ("Add", ["a", "b"], "Error binding arguments"),
            ]
            for (method, arguments, reason) in misfits {
                let error = await #expect(throws: SignalRError.self, "\(method)") {
                    switch arguments.count {
                    case 1: try await connection.invoke(method: method, arguments: arguments[0])
                    default: try await connection.invoke(method: method, arguments: arguments[0], arguments[1])
                    }
                }
                guard case .invocationError(let text) = error else { throw try #require(error) }
                #expect(text.contains(reason), "\(method): \(text)")
            }
        }
    }

    @Test("a group, all others, and everybody get what they should", arguments: routes)
    func audiences(_ route: Route) async throws {
        try await withHub(route) { connection in
            try await withHub(route) { other in
                // Other tests send to everybody too, so the texts of this test contain its group.
                let group: String = try await connection.invoke(method: "ConnectionId")
                let inboxes = [Inbox<String>(), Inbox<String>()]
                for (connection, inbox) in zip([connection, other], inboxes) {
                    await connection.on("Group") { (name: String, text: String) in inbox.add("group \(text)") }
                    await connection.on("Others") { (text: String) in
                        if text.hasSuffix(group) { inbox.add("others") }
                    }
                    await connection.on("ReceiveMessage") { (user: String, text: String) in
                        if user == group { inbox.add("all \(text)") }
                    }
                    try await connection.invoke(method: "Join", arguments: group)
                }
                try await connection.invoke(method: "ToGroup", arguments: group, "1")
                try await other.invoke(method: "Leave", arguments: group)
                try await connection.invoke(method: "ToGroup", arguments: group, "2")
                try await connection.invoke(method: "Others", arguments: "to \(group)")
                try await connection.invoke(method: "SendMessage", arguments: group, "3")
                #expect(await inboxes[0].next(3) == ["group 1", "group 2", "all 3"])
                #expect(await inboxes[1].next(3) == ["group 1", "others", "all 3"])
            }
        }
    }

    @Test("uploads of text, and an upload that the hub streams back", arguments: routes)
    func textUploads(_ route: Route) async throws {
        try await withHub(route) { connection in
            func sequence<Element: Sendable>(_ elements: [Element]) -> AsyncStream<Element> {
                AsyncStream { continuation in
                    for element in elements { continuation.yield(element) }
                    continuation.finish()
                }
            }
            let texts = (0..<100).map { "é\($0)\u{1E}" }
            let joined: String = try await connection.invoke(method: "Concat", arguments: sequence(texts))
            #expect(joined == texts.joined())
            let empty: String = try await connection.invoke(method: "Concat", arguments: sequence([String]()))
            #expect(empty.isEmpty)
            let counts = Inbox<Int>()
            await connection.on("Uploaded") { (count: Int) in counts.add(count) }
            try await connection.send(method: "Upload", arguments: sequence(texts))
            #expect(try await counts.next() == 100)
            let doubled: any StreamResult<Int> = try await connection.stream(
                method: "Double",
                arguments: sequence(Array(0..<100))
            )
            var items: [Int] = []
            for try await item in doubled.stream { items.append(item) }
            #expect(items == (0..<100).map { 2 * $0 })
        }
    }

    @Test("the hub waits for the client's result, and gives up after its time limit", arguments: routes)
    func clientResults(_ route: Route) async throws {
        try await withHub(route) { connection in
            let answers = Inbox<String>()
            await connection.on("ClientResult") { (text: String) in text + "!" }
            await connection.on("Got") { (text: String) in answers.add(text) }
            try await connection.invoke(method: "TriggerClientResult")
            #expect(try await answers.next() == "hello!")
            await connection.on("Quick") { (text: String) in text + " yes" }
            let quick: String = try await connection.invoke(method: "AskWithTimeout", arguments: "Quick", 3_600_000)
            #expect(quick == "? yes")
            let signal = AsyncStream.makeStream(of: Void.self)
            await connection.on("Late") { (_: String) in
                for await _ in signal.stream {}
                return "too late"
            }
            let late: String = try await connection.invoke(method: "AskWithTimeout", arguments: "Late", 50)
            #expect(late.contains("Invocation canceled by the server"), "\(late)")
            // The hub ignores the late result, and the connection works.
            signal.continuation.finish()
            let again: String = try await connection.invoke(method: "AskWithTimeout", arguments: "Quick", 3_600_000)
            #expect(again == "? yes")
        }
    }

    @Test("a connection that the hub aborts is closed without an error, and stays closed", arguments: routes)
    func aborts(_ route: Route) async throws {
        try await withHub(route, "hub", { $0.withAutomaticReconnect() }) { connection in
            let ends = Inbox<String>()
            connection.onReconnecting { ends.add("reconnecting: \(String(describing: $0))") }
            connection.onClosed { ends.add("closed: \(String(describing: $0))") }
            try await connection.send(method: "Abort")
            #expect(try await ends.next() == "closed: nil")
            await #expect(throws: SignalRError.self) { try await connection.invoke(method: "Nothing") }
        }
    }
}
