import ParlorClient
import SwiftUI

@main
struct RoomsApp: App {
    @UIApplicationDelegateAdaptor(AppDelegate.self) private var delegate
    @Environment(\.scenePhase) private var phase

    var body: some Scene {
        WindowGroup {
            RootView(account: delegate.account) { await delegate.askForNotifications() }
                .onOpenURL { delegate.account.open($0) }
                .environment(delegate.notifications)
        }
        .onChange(of: phase, initial: true) {
            switch phase {
            case .active: Task { await delegate.account.enterForeground() }
            case .background: enterBackground()
            default: break
            }
        }
    }

    private func enterBackground() {
        // The system may suspend the app as soon as this function returns, so ask for time before that.
        let time = BackgroundTime()
        Task {
            await delegate.account.enterBackground()
            time.end()
        }
    }
}
