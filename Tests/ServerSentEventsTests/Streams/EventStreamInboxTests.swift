import TestTraits
import Testing

@testable import ServerSentEvents

@Suite("The inbox of an event stream", .limited)
struct EventStreamInboxTests {
    @Test("the inbox keeps only the last loss if several losses follow each other")
    func losses() {
        let inbox = EventStreamInbox(limit: 1)
        for number in 1...100 { inbox.append(.lost(EventStreamError(.connectionFailed, "\(number)"))) }
        #expect(inbox.take().items == [.lost(EventStreamError(.connectionFailed, "100"))])
    }

    @Test("a new item resumes all waiting tasks")
    func waiting() async {
        let inbox = EventStreamInbox(limit: 1)
        await withTaskGroup { group in
            for _ in 1...2 { group.addTask { await inbox.wait() } }
            group.addTask { inbox.append(.ended(1, isComplete: false)) }
        }
        #expect(inbox.take().items == [.ended(1, isComplete: false)])
    }
}
