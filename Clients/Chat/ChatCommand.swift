import Foundation
import RoomsClient

/// The program: signs in, and shows rooms until somebody quits.
public enum ChatCommand {
    /// Keys that were typed while the last one was being worked on; more would be an accident.
    private static let maxWaitingKeys = 1024

    /// - Returns: the exit status: 2 for a command line that cannot be meant, 1 for what failed.
    @MainActor
    public static func run(_ arguments: some Sequence<String>) async -> Int32 {
        let options: ChatOptions
        do {
            options = try ChatOptions(arguments)
        } catch {
            complain("\(error)\n\(ChatOptions.usage)")
            return 2
        }
        if options.showsHelp {
            print(ChatOptions.usage)
            return 0
        }
        do {
            return try await run(options)
        } catch let failure as ClientFailure {
            complain(failure.text)
        } catch {
            complain("\(error)")
        }
        return 1
    }

    @MainActor
    private static func run(_ options: ChatOptions) async throws -> Int32 {
        let file = try SessionFile(options)
        let http = URLSessionTransport(base: options.server)
        if options.signsOut {
            try file.removeAll()
            return 0
        }
        let accounts = AccountsAPI(transport: http)
        let session = try await file.session(options, accounts)
        let tokens = SessionTokens(session, accounts: accounts) { file.keep($0) }
        let client = RoomsClient(
            server: options.server, user: session.user, tokens: tokens, http: http,
            folder: file.folder(of: session.user))
        guard let terminal = Terminal() else {
            complain("parlor-chat needs a terminal")
            return 2
        }
        defer { terminal.close() }
        await ChatApp(client, on: terminal).run(keys: keys())
        return 0
    }

    private static func keys() -> AsyncStream<Key> {
        let (keys, continuation) = AsyncStream.makeStream(
            of: Key.self, bufferingPolicy: .bufferingNewest(maxWaitingKeys))
        // Reading blocks, until the program ends.
        Thread.detachNewThread {
            var parser = KeyParser()
            while let pressed = Terminal.readKeys(with: &parser) {
                for key in pressed { continuation.yield(key) }
            }
            continuation.finish()
        }
        return keys
    }

    static func complain(_ text: String) { FileHandle.standardError.write(Data("parlor-chat: \(text)\n".utf8)) }
}
