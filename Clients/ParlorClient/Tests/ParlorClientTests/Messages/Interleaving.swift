/// The history of a room, made from a seed: what two people and the network do, and the room's messages at the end.
///
/// Both client libraries replay the same histories, `interleavings.json`. They request different
/// pages at different times, so a history does not say which page a request is for.
struct Interleaving: Equatable, Sendable {
    /// What happens to a request.
    enum Fate: String, CaseIterable, Sendable {
        case answered
        /// The server handles the request, and the answer waits for a `release`.
        case held
        case answerLost = "answer-lost"
        case lost
        case refused

        /// The fates of requests for pages. These are never refused, and most are answered, because little happens
        /// until a page has arrived.
        static let ofPages: [Fate] = [.answered, .answered, .answered, .held, .held, .answerLost, .lost]
    }

    /// A step of a history.
    ///
    /// A step may choose among things whose number only a replay knows. The choice is taken modulo that number, and the
    /// step is skipped if there are none.
    enum Step: Equatable, Sendable {
        /// The person of this client types `mine N`.
        case type
        /// The other person sends `other N`.
        case other
        /// The other person deletes the room's message at an index.
        case delete(Int)
        /// The other person reads the room's message at an index.
        case read(Int)
        /// The next event arrives, or one of the events after it.
        case deliver(Int)
        /// An event that has arrived arrives again.
        case again(Int)
        /// The fate of the request that sends `mine N`, as soon as there is one.
        case send(Int, Fate)
        /// The fate of a request for a page.
        case page(Int, Fate)
        /// A held answer arrives.
        case release(Int)
        /// The connection is lost. The next one replays the missed events, or cannot.
        case disconnect(keepsEvents: Bool)
        case connect
        case leave
        case enter
        case wait(milliseconds: Int)
        case older
        /// The person of this client deletes their message at an index: here if it is shown, otherwise on another
        /// device.
        case remove(Int, Fate)
        case retry(Int)
        case discard(Int)
        /// The app is killed and starts again. If it is prepared, it went to the background before.
        case restart(isPrepared: Bool)
    }

    let seed: UInt64
    /// The number of messages at the beginning, all by the other person.
    let before: Int
    let steps: [Step]
    /// The room's messages at the end: `seq` and text, and whether the other person has read each.
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
    /// Returns the histories of seeds as JSON in short lines, so that people can read the file.
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

    /// Returns words as JSON strings in short lines. They contain nothing that has to be escaped.
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
