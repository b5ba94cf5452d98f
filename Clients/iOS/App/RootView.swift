import ParlorClient
import SwiftUI

/// Shows the rooms if somebody is signed in, and the sign-in screen otherwise.
struct RootView: View {
    @Bindable var account: Account
    let askForNotifications: () async -> Void

    var body: some View {
        Group {
            if let client = account.client, account.isSignedIn {
                HomeScreen(account: account, client: client).task { await askForNotifications() }
            } else if account.isRestored {
                SignInScreen(account: account)
            } else {
                ProgressView()
            }
        }
        .failureAlert("Signing out was not complete.", $account.signOutFailure)
    }
}
