import ParlorClient
import SwiftUI

/// A line with what is to be said about the connection. A second line says if messages cannot be kept on this device.
struct ConnectionLine: View {
    let client: RoomsClient
    @State private var notice = ConnectionNotice()

    var body: some View {
        VStack(spacing: 0) {
            switch notice.state {
            case nil: EmptyView()
            case .connecting: line("Connecting…", "arrow.triangle.2.circlepath")
            case .waiting(let failure):
                line("\(failure.sentence) What you write is sent later.", "wifi.slash") {
                    Button("Try now") {
                        notice.noteRequest()
                        Task { await client.enterForeground() }
                    }
                }
            case .ended(let failure):
                line("\(failure.sentence)", "exclamationmark.triangle") {
                    Button("Try again") { Task { await client.start() } }
                }
            }
            if let reason = client.outboxFailure {
                line("Messages cannot be kept on this device: \(reason)", "externaldrive.badge.exclamationmark")
            }
        }
        // An empty view would never begin its task.
        .background { Color.clear.task(id: client.connection) { await notice.follow(client.connection) } }
    }

    private func line(
        _ text: LocalizedStringKey, _ symbol: String, @ViewBuilder button: () -> some View = { EmptyView() }
    ) -> some View {
        HStack {
            Label(text, systemImage: symbol)
            Spacer()
            button()
        }
        .font(.footnote)
        .padding(.horizontal)
        .padding(.vertical, 8)
        .background(.bar)
        .accessibilityElement(children: .combine)
    }
}

extension View {
    func connectionLine(_ client: RoomsClient) -> some View {
        safeAreaInset(edge: .top, spacing: 0) { ConnectionLine(client: client) }
    }
}
