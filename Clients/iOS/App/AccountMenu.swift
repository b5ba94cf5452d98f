import RoomsClient
import SwiftUI

/// Who is signed in, and the way out. What would be lost with it is counted first.
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
        // What cannot be read now cannot be counted either.
        unsentCount = (try? await client.unsentCount()) ?? 0
        isAsking = true
    }
}
