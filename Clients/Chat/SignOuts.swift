import Foundation
import ParlorClient

/// The sign-outs on this machine that are not complete: the data is not deleted, or the server has not ended the
/// session. Each has a folder in the `ServerFolder`, until both are done.
struct SignOuts: Sendable {
    private let server: URL
    private let http: any HTTPTransport
    private let folder: ServerFolder
    private let clock: any ClientClock

    /// The longest wait for the server at the end of `--sign-out`.
    static let patience: Duration = .seconds(5)

    init(at server: URL, http: any HTTPTransport, in folder: ServerFolder, clock: any ClientClock) {
        self.server = server
        self.http = http
        self.folder = folder
        self.clock = clock
    }

    /// Completes all sign-outs, except those that another process is completing. Requests are repeated until the server
    /// answers, or until the task is cancelled.
    ///
    /// - Returns: false if some are left.
    /// - Throws: the file system's first error, after it has tried everything.
    @MainActor
    func complete() async throws -> Bool {
        var failure: (any Error)?
        for own in try folder.signedOut {
            do { try await complete(own) } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
        return try folder.signedOut.isEmpty
    }

    /// Completes all sign-outs, but waits for the server for at most `patience`.
    @MainActor
    func completeSoon() async throws -> Bool {
        let completing = Task { try await complete() }
        let limit = Task { [clock] in
            // Cancelled if the work ends first.
            do { try await clock.sleep(for: Self.patience) } catch { return }
            completing.cancel()
        }
        defer { limit.cancel() }
        return try await completing.value
    }

    @MainActor
    private func complete(_ own: PersonFolder) async throws {
        let hold: FolderLock
        do { hold = try own.hold() } catch is PersonFolder.Held { return }
        defer { withExtendedLifetime(hold) {} }
        let kept = try own.load()
        if let user = (kept.current ?? kept.ending.first?.session)?.user {
            let tokens = try SessionTokens(keptIn: own, accounts: AccountsAPI(transport: http), clock: clock)
            let client = RoomsClient(
                server: server, user: user, tokens: tokens, http: http, clock: clock, folder: own.url)
            // This deletes the data, and stores that the session is to be ended.
            try await client.signOut()
            await tokens.settleEnding()
            guard try own.load() == KeptSessions() else { return }
        }
        try own.remove()
    }
}
