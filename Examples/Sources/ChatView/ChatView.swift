#if canImport(SwiftUI)
    import Chat
    import SwiftUI

    /// The room in SwiftUI. The view compiles on Apple platforms only.
    package struct ChatView: View {
        @StateObject private var model: ChatModel
        @State private var text = ""
        @State private var runCount = 1

        package init(_ room: ChatRoom) { _model = StateObject(wrappedValue: ChatModel(room)) }

        package var body: some View {
            VStack(alignment: .leading) {
                if let banner = model.state.banner {
                    Text(banner).frame(maxWidth: .infinity).padding(6).background(.yellow)
                }
                Text(model.state.people.joined(separator: ", ")).font(.caption)
                List(Array(model.state.lines.enumerated()), id: \.offset) { _, line in
                    switch line {
                    case .message(let text, let sender): Text(verbatim: "\(sender): \(text)")
                    case .announcement(let text): Text(text).bold()
                    }
                }
                Text(model.state.typing.sorted().map { "\($0) is typing …" }.joined(separator: " ")).font(.caption)
                TextField("Message", text: $text)
                    .onChange(of: text) { text in if !text.isEmpty { model.room.userIsTyping() } }
                    .onSubmit { submit() }
                if let error = model.error { Text(error).foregroundStyle(.red) }
                if model.hasEnded { Button("Try again") { runCount += 1 } }
            }
            // SwiftUI cancels the task when the view disappears, and starts another task when `runCount` changes.
            .task(id: runCount) { await model.run() }
        }

        private func submit() {
            let message = text
            Task {
                // Keep a message that was not sent in the field. Also keep a text that the user has begun meanwhile.
                if await model.say(message), text == message { text = "" }
            }
        }
    }

    @MainActor
    final class ChatModel: ObservableObject {
        @Published private(set) var state: ChatState
        @Published private(set) var error: String?
        /// Whether the user has left the room, for example because the backend refused the user.
        @Published private(set) var hasEnded = false
        let room: ChatRoom

        init(_ room: ChatRoom) {
            self.room = room
            state = room.state
            room.onChange = { [weak self] state in self?.state = state }
        }

        func run() async {
            error = nil
            hasEnded = false
            do { try await room.run() } catch { self.error = error.localizedDescription }
            hasEnded = !Task.isCancelled
        }

        /// Sends a message. Returns `false` if the message was not sent.
        func say(_ text: String) async -> Bool {
            error = nil
            do {
                try await room.say(text)
                return true
            } catch {
                self.error = error.localizedDescription
                return false
            }
        }
    }
#endif
