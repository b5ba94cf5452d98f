import ParlorClient
import SwiftUI

/// Shows who is signed in, and signs them out. Before that, it says how many unsent changes would be lost.
struct AccountMenu: View {
    let account: Account
    let client: RoomsClient
    @State private var isAsking = false
    @State private var unsentCount = 0

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
            Button("Sign out", role: .destructive) { Task { await account.signOut() } }
        } message: {
            if unsentCount > 0 {
                Text("^[\(unsentCount) unsent change](inflect: true) will be lost, messages included.")
            }
        }
    }

    private func ask() async {
        // `try?`: if the count cannot be read, the question does not mention unsent changes.
        unsentCount = (try? await client.unsentCount()) ?? 0
        isAsking = true
    }
}
