import Foundation
import Observation
import ParlorClient

/// The input line of a chat, and the notice above it.
///
/// A text with one slash is a command. Commands run in the background, one after the other, so keys never wait. The
/// notice shows their outcome.
@MainActor @Observable
final class ChatPrompt {
    /// Does something, and returns the notice to show.
    typealias Work = @MainActor () async throws -> String

    var notice = "/help"
    private(set) var input = LineEditor()
    /// The work of the open question. `y` confirms it, and any other key cancels it.
    @ObservationIgnored private var asked: Work?
    @ObservationIgnored private var running: Task<Void, Never>?

    /// True while a message is typed, and not a command.
    var isMessage: Bool { !input.isEmpty && !input.isCommand }

    /// True while the notice comes before who is typing: a question is open, or the message is too long.
    var needsNotice: Bool { asked != nil || (isMessage && left < 0) }

    /// The typed text as it is sent. One that begins with two slashes is sent with one of them.
    private var message: String { input.text.hasPrefix("//") ? String(input.text.dropFirst()) : input.text }

    // MARK: Keys

    /// Handles a key of the input line.
    ///
    /// - Returns: false if the input line does not use the key.
    func press(_ key: Key) -> Bool {
        guard input.press(key) else { return false }
        notice = isMessage ? remaining : ""
        return true
    }

    /// Puts a text into the empty input.
    func write(_ text: String) { input.press(.paste(text)) }

    /// How many more characters the message may have; below zero if it is too long.
    private var left: Int { MessageText.limit - MessageText.count(of: message) }

    /// Says how many characters are left, or too many; empty if there is much room.
    private var remaining: String {
        let left = left
        guard left < 400 else { return "" }
        let characters = abs(left) == 1 ? "1 character" : "\(abs(left)) characters"
        return left < 0 ? "\(characters) too many. The message is not sent." : "\(characters) left"
    }

    /// Takes what was typed. A message that is too long stays in the input.
    ///
    /// - Parameters:
    ///   - begin: starts a command with its argument; false if there is no such command. It then stays in the input.
    ///   - help: the list of commands.
    ///   - send: sends a message; false if it cannot be sent. It then stays in the input.
    func enter(help: String, begin: (_ command: String, _ argument: String) -> Bool, send: (String) -> Bool) {
        guard input.isCommand else {
            if left < 0 { notice = remaining } else if send(message) { _ = input.take() }
            return
        }
        let words = input.text.dropFirst().split(separator: " ", maxSplits: 1).map(String.init)
        // Spaces alone are not an argument.
        let argument = words.count > 1 ? words[1].trimmingCharacters(in: .whitespaces) : ""
        guard begin(words.first ?? "", argument) else {
            notice = "Unknown command. To send a slash, begin with //. \(help)"
            return
        }
        _ = input.take()
    }

    // MARK: Commands

    /// Asks a question, and does the work if the person confirms it.
    func ask(_ question: String, _ work: @escaping Work) {
        asked = work
        notice = "\(question.replacing("\n", with: " ").cut(to: 50)) y: yes, any other key: no"
    }

    /// Handles a key if a question is open.
    ///
    /// - Returns: false if none is open.
    func answer(_ key: Key) -> Bool {
        guard let work = asked else { return false }
        asked = nil
        if key == .character("y") { run(work) } else { notice = "Nothing was done." }
        return true
    }

    /// Returns when all work has ended.
    func finish() async { await running?.value }

    /// Settles failed messages one after the other: sends them again, or drops them.
    func settle<ID>(_ failed: @escaping @MainActor () -> [ID], _ settleOne: @escaping @MainActor (ID) async -> Void) {
        run {
            let ids = failed()
            for id in ids { await settleOne(id) }
            return ids.isEmpty ? "Nothing has failed." : ""
        }
    }

    /// Puts the text of a failed message back into the input, before what is typed there.
    ///
    /// - Parameters:
    ///   - failed: nil if no message has failed.
    ///   - take: discards the message, and returns its text; nil if it cannot be discarded, for example because it is
    ///     being sent.
    func takeBack<ID>(_ failed: ID?, _ take: @escaping @MainActor (ID) async -> String?) {
        guard let failed else {
            notice = "Nothing has failed."
            return
        }
        run {
            guard let text = await take(failed) else { return "The message is being sent." }
            self.input.putBack(text.hasPrefix("/") ? "/\(text)" : text)
            return self.remaining
        }
    }

    /// Does some work when the work before it has ended.
    func run(_ work: @escaping Work) {
        notice = "…"
        running = Task { [previous = running] in
            await previous?.value
            do {
                notice = try await work()
            } catch {
                notice = error.localizedDescription
            }
        }
    }
}

extension LineEditor {
    /// True for a command, which begins with one slash. A text with two slashes is a message, sent with one of them.
    fileprivate var isCommand: Bool { characters.first == "/" && characters.dropFirst().first != "/" }
}

extension MessageItem {
    var isFailed: Bool { if case .failed = state { true } else { false } }
}
