import ParlorClient
import SwiftUI

/// Shows who is signed in, and signs them out. It first says how many unsent changes that would discard.
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
        // If the count cannot be read, the question is asked without it.
        unsentCount = (try? await client.unsentCount()) ?? 0
        isAsking = true
    }
}
