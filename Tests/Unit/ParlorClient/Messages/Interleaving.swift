/// A room's history as a seed makes it: what two people and the network do, and the room's messages at the end.
///
/// Both client libraries replay the same histories, `Tests/Web/support/interleavings.json`. So a history names no
/// request for a page by what it asks for: the libraries request different pages at different times.
struct Interleaving: Equatable, Sendable {
    /// What happens to a request.
    enum Fate: String, CaseIterable, Sendable {
        case answered
        /// The server handles it, and the answer waits for a `release`.
        case held
        case answerLost = "answer-lost"
        case lost
        case refused

        /// Pages are never refused, and mostly arrive, because little happens before they do.
        static let ofPages: [Fate] = [.answered, .answered, .answered, .held, .held, .answerLost, .lost]
    }

    /// A choice among things whose number only a replay knows is taken modulo that number, and skipped if it is 0.
    enum Step: Equatable, Sendable {
        /// One types `mine N`.
        case type
        /// The other person sends `other N`.
        case other
        /// The other person deletes the room's message at an index.
        case delete(Int)
        /// The other person reads the room's message at an index.
        case read(Int)
        /// The next event arrives, or a later one before it.
        case deliver(Int)
        /// An event that has arrived arrives again.
        case again(Int)
        /// The fate of the request that sends `mine N`, as soon as there is one.
        case send(Int, Fate)
        /// The fate of a request for a page.
        case page(Int, Fate)
        /// A held answer arrives.
        case release(Int)
        /// The connection is lost; the next one replays what was missed, or does not.
        case disconnect(keepsEvents: Bool)
        case connect
        case leave
        case enter
        case wait(milliseconds: Int)
        case older
        /// One deletes the own message at an index, on this device if it is shown here, or else on another.
        case remove(Int, Fate)
        case retry(Int)
        case discard(Int)
        /// The app is killed and starts again. If it is prepared, it was in the background before.
        case restart(isPrepared: Bool)
    }

    let seed: UInt64
    /// The number of messages at the beginning, all by the other person.
    let before: Int
    let steps: [Step]
    /// The room's messages: `seq` and text, and whether the other person has read it.
    let end: [String]
}

extension Interleaving.Step: CustomStringConvertible {
    var description: String {
        switch self {
        case .type: "type"
        case .other: "other"
        case .delete(let index): "delete \(index)"
        case .read(let index): "read \(index)"
        case .deliver(let choice): "deliver \(choice)"
        case .again(let choice): "again \(choice)"
        case .send(let number, let fate): "send \(number) \(fate.rawValue)"
        case .page(let choice, let fate): "page \(choice) \(fate.rawValue)"
        case .release(let choice): "release \(choice)"
        case .disconnect(let keepsEvents): "disconnect \(keepsEvents ? "kept" : "missed")"
        case .connect: "connect"
        case .leave: "leave"
        case .enter: "enter"
        case .wait(let milliseconds): "wait \(milliseconds)"
        case .older: "older"
        case .remove(let index, let fate): "remove \(index) \(fate.rawValue)"
        case .retry(let number): "retry \(number)"
        case .discard(let number): "discard \(number)"
        case .restart(let isPrepared): "restart \(isPrepared ? "prepared" : "killed")"
        }
    }
}

extension Interleaving {
    /// The histories of seeds as JSON, in short lines, for a file that people read.
    static func json(_ seeds: ClosedRange<UInt64>) -> String {
        "[\n" + seeds.map { Interleaving(seed: $0).json }.joined(separator: ",\n") + "\n]\n"
    }

    private var json: String {
        """
        {"seed": \(seed), "before": \(before),
          "steps": [
        \(Self.lines(of: steps.map(\.description)))
          ],
          "end": [
        \(Self.lines(of: end))
          ]}
        """
    }

    /// Words that need no escapes.
    private static func lines(of words: [String]) -> String {
        var lines: [String] = []
        for (index, word) in words.enumerated() {
            let entry = "\"\(word)\"" + (index == words.count - 1 ? "" : ",")
            if let last = lines.last, last.count + entry.count < 110 {
                lines[lines.count - 1] += " " + entry
            } else {
                lines.append("    " + entry)
            }
        }
        return lines.joined(separator: "\n")
    }
}
