#if canImport(SwiftUI)
    import Chat
    import SwiftUI

    /// The room in SwiftUI. The view compiles on Apple platforms only.
    package struct ChatView: View {
        @StateObject private var model: ChatModel
        @State private var text = ""

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
                Text(model.state.typing.map { "\($0) is typing …" }.joined(separator: " ")).font(.caption)
                TextField("Message", text: $text)
                    .onChange(of: text) { _ in model.room.userIsTyping() }
                    .onSubmit { model.say(&text) }
                if let error = model.error { Text(error).foregroundStyle(.red) }
            }
            .task { await model.run() }
        }
    }

    @MainActor
    final class ChatModel: ObservableObject {
        @Published private(set) var state = ChatState()
        @Published private(set) var error: String?
        let room: ChatRoom

        init(_ room: ChatRoom) {
            self.room = room
            room.onChange = { [weak self] state in self?.state = state }
        }

        func run() async {
            do { try await room.run() } catch { self.error = error.localizedDescription }
        }

        func say(_ text: inout String) {
            let sent = text
            text = ""
            Task {
                do { try await room.say(sent) } catch { self.error = error.localizedDescription }
            }
        }
    }
#endif
