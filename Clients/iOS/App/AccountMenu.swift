import ParlorClient
import SwiftUI

/// Shows who is signed in, and signs them out. Before that, it says how many unsent changes will be lost. If they
/// cannot be counted, it gives no number.
struct AccountMenu: View {
    let client: RoomsClient
    let signOut: () async -> Void
    @State private var isAsking = false
    /// The number of unsent changes; nil if they cannot be counted.
    @State private var unsentCount: Int? = 0

    var body: some View {
        Menu {
            Section(client.user.displayName) {
                Button("Sign out", systemImage: "rectangle.portrait.and.arrow.right", role: .destructive) {
                    Task { await ask() }
                }
            }
        } label: {
            Label("Account", systemImage: "person.crop.circle")
        }
        .confirmationDialog("Sign out?", isPresented: $isAsking, titleVisibility: .visible) {
            Button("Sign out", role: .destructive) { Task { await signOut() } }
        } message: {
            switch unsentCount {
            case nil: Text("Unsent changes will be lost, messages included.")
            case 0?: EmptyView()
            case let count?: Text("^[\(count) unsent change](inflect: true) will be lost, messages included.")
            }
        }
    }

    private func ask() async {
        unsentCount = try? await client.unsentCount()
        isAsking = true
    }
}
