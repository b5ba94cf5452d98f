import ParlorClient
import SwiftUI

/// Shows the rooms if somebody is signed in, and the sign-in screen otherwise.
struct RootView: View {
    let account: ParlorAccount
    let askForNotifications: () async -> Void
    @State private var signOutFailure: String?

    var body: some View {
        Group {
            switch account.state {
            case .restoring: Restoring(account: account)
            case .signedOut: SignInScreen(account: account)
            case .signedIn(let client):
                HomeScreen(account: account, client: client, signOut: signOut).task { await askForNotifications() }
            }
        }
        .failureAlert("Signing out was not complete.", $signOutFailure)
    }

    /// Signs out here, because the menu disappears with the rooms, and could not show an alert.
    private func signOut() async {
        await $signOutFailure.catching { try await account.signOut() }
    }
}

/// What is shown until the stored session could be read.
private struct Restoring: View {
    let account: ParlorAccount

    var body: some View {
        if let failure = account.failure {
            VStack {
                FailureLabel(verbatim: failure)
                Button("Try again") { Task { await account.enterForeground() } }
            }
        } else {
            ProgressView()
        }
    }
}
