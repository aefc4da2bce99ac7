#if canImport(SwiftUI)
    import PusherObservation
    import SwiftUI

    /// The dashboard in SwiftUI. The view compiles on Apple platforms only.
    @available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *)
    package struct DashboardView: View {
        @State private var model: DashboardModel
        @State private var text = ""
        @Environment(\.scenePhase) private var phase

        package init(_ model: DashboardModel) { _model = State(initialValue: model) }

        package var body: some View {
            VStack(alignment: .leading) {
                if let banner = model.connection.banner {
                    Text(banner).frame(maxWidth: .infinity).padding(6).background(.yellow)
                }
                Text("\(model.total)").font(.largeTitle)
                List(model.newestOrders) { order in Text("Order \(order.id): \(order.amount)") }
                Text(model.audience).font(.caption)
                TextField("Note", text: $text)
                    .onChange(of: text) { if !text.isEmpty { model.userIsTyping() } }
            }
            .onAppear { model.appear() }
            .onDisappear { model.disappear() }
            .onChange(of: phase) { if phase == .active { model.checkConnection() } }
        }
    }
#endif
