import Dispatch
import Foundation
import ParlorClient

/// The chat program: signs in, and shows rooms until the person quits.
public enum ChatCommand {
    /// Runs the program.
    ///
    /// - Parameter webSockets: the transport of the socket; where it does not get through, the program polls.
    /// - Returns: the exit status: 0, 1 after a failure, 2 for an invalid command line or without a terminal.
    @MainActor
    package static func run(
        _ arguments: some Sequence<String>, webSockets: any SocketTransport
    ) async -> Int32 {
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
            let http = URLSessionTransport(base: options.server)
            let sockets = FallbackTransport(webSockets: webSockets, polling: PollingTransport(http: http))
            let people = try SignIn(options, http: http, sockets: sockets)
            if options.signsOut { return try await people.signOut() }
            let person = try await people.signIn()
            // Earlier sign-outs are completed as soon as the server answers. If the file system fails, the next start
            // tries again.
            let completing = Task { [signOuts = people.signOuts] in try? await signOuts.complete() }
            defer { completing.cancel() }
            return await show(person, options)
        } catch let failure as ClientFailure {
            complain(failure.localizedDescription)
        } catch {
            complain("\(error)")
        }
        return 1
    }

    @MainActor
    private static func show(_ person: SignIn.Person, _ options: ChatOptions) async -> Int32 {
        let status = StatusLine(person.client)
        guard let terminal = Terminal() else {
            complain("parlor-chat needs a terminal")
            return 2
        }
        defer { terminal.close() }
        let following = Task {
            for await failure in person.failures { status.alert = failure }
        }
        defer { following.cancel() }
        // The buffer is unbounded, because no key may be lost. A paste is one key.
        let (keys, continuation) = AsyncStream.makeStream(of: Key.self, bufferingPolicy: .unbounded)
        let signals = [SIGTERM, SIGHUP, SIGINT].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            // A signal ends the program like Ctrl-C, which restores the terminal.
            source.setEventHandler { continuation.yield(.control("c")) }
            source.resume()
            return source
        }
        defer { for source in signals { source.cancel() } }
        // Reading blocks its thread, until the program ends.
        Thread.detachNewThread {
            var parser = KeyParser()
            while let pressed = Terminal.readKeys(with: &parser) {
                for key in pressed { continuation.yield(key) }
            }
            continuation.finish()
        }
        await ChatApp(person.client, status, on: terminal).run(keys: keys)
        return 0
    }

    nonisolated static func complain(_ text: String) {
        FileHandle.standardError.write(Data("parlor-chat: \(text)\n".utf8))
    }
}
