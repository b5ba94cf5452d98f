import SwiftUI

/// What the page leaves to the app.
struct SignInView: View {
    let signIn: (String, String) async -> Void

    init(_ signIn: @escaping (String, String) async -> Void) { self.signIn = signIn }

    var body: some View { EmptyView() }
}

extension View {
    func badgeStyle() -> some View { foregroundStyle(.secondary) }
}
