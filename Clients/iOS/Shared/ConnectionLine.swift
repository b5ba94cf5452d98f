import ParlorClient
import SwiftUI

/// A line with the state of the connection, which is hidden while the client is connected. A second line says if
/// messages cannot be kept on this device.
struct ConnectionLine: View {
    let client: RoomsClient

    var body: some View {
        VStack(spacing: 0) {
            switch client.connection {
            case .connected: EmptyView()
            case .idle, .connecting: line("Connecting…", "arrow.triangle.2.circlepath")
            case .waiting(let failure):
                line("\(failure.localizedDescription) What you write is sent later.", "wifi.slash") {
                    Button("Try now") { Task { await client.enterForeground() } }
                }
            case .ended(let failure):
                line("\(failure.localizedDescription)", "exclamationmark.triangle") {
                    Button("Try again") { Task { await client.start() } }
                }
            }
            if let reason = client.outboxFailure {
                line("Messages cannot be kept on this device: \(reason)", "externaldrive.badge.exclamationmark")
            }
        }
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
