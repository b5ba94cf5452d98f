import RoomsClient
import SwiftUI

/// The whole of an app: who is signed in, one client, and where a screen leads.
struct RoomsApp: App {
    @State private var account = Account()
    @Environment(\.scenePhase) private var phase

    var body: some Scene {
        WindowGroup {
            if let client = account.client, client.connection != .ended(.signedOut) {
                NavigationStack {
                    RoomsScreen(client: client)
                        .navigationDestination(for: Route.self) { route in
                            switch route {
                            case .person(let id): PersonScreen(client: client, personID: id)
                            case .room(let id): ChatScreen(client: client, roomID: id)
                            case .board(let id): BoardScreen(client: client, roomID: id)
                            }
                        }
                }
            } else {
                SignInScreen(account: account)
            }
        }
        .onChange(of: phase, initial: true) { Task { await account.follow(isActive: phase == .active) } }
    }
}

/// Signs in and out. On a device the store is a `KeychainSessionStore`.
@Observable
final class Account {
    static let server = URL(string: "https://parlor.example") ?? URL(filePath: "/")
    private(set) var client: RoomsClient?
    private let accounts = AccountsAPI(transport: URLSessionTransport(base: server))
    private var tokens: SessionTokens?

    func start(_ store: any SessionStore) async throws {
        let tokens = try SessionTokens(keptIn: store, accounts: accounts)
        self.tokens = tokens
        if let session = await tokens.session { await run(for: session.user) }
    }

    func signIn(_ username: String, _ password: String) async throws {
        let session = try await accounts.logIn(username: username, password: password)
        // Nobody's requests may go out with another's tokens.
        if client?.user.id != session.user.id { await client?.stop() }
        await tokens?.use(session)
        await run(for: session.user)
    }

    /// Nothing stays on the device, and the server sends it no pushes any more.
    func signOut() async throws {
        defer { client = nil }
        try await client?.signOut()
    }

    func follow(isActive: Bool) async {
        if isActive { await client?.enterForeground() } else { await client?.enterBackground() }
    }

    private func run(for user: Person) async {
        guard let tokens else { return }
        if client?.user.id != user.id {
            client = RoomsClient(
                server: Self.server, user: user, tokens: tokens,
                folder: URL.applicationSupportDirectory.appending(path: user.id))
        }
        await client?.start()
    }
}

struct SignInScreen: View {
    let account: Account
    @State private var username = ""
    @State private var password = ""
    @State private var failure: ClientFailure?

    var body: some View {
        VStack {
            TextField("Username", text: $username)
            SecureField("Password", text: $password)
            Button("Sign in") {
                Task {
                    do { try await account.signIn(username, password) } catch { failure = error as? ClientFailure }
                }
            }
        }
        .failureAlert($failure)
    }
}
