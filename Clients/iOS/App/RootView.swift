import RoomsClient
import SwiftUI

/// The rooms of the person who is signed in, or the way to sign in.
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
