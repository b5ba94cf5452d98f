/// One way for bytes to come in from outside, and what has to hold whatever they are.
///
/// `run` traps or throws if something does not hold. It keeps nothing from one input to the next: the same bytes take the
/// same way each time.
struct FuzzTarget: Sendable {
    /// The name of its corpus and of its dictionary, and what `deploy/fuzz` calls it.
    let name: String
    /// Longer inputs find nothing that shorter ones do not.
    let maxLength: Int
    let run: @Sendable ([UInt8]) throws(FuzzFinding) -> Void

    static let all = [
        http, webSocket, webSocketFrames, polling, session, socketIO, json, jsonWriter, busLine, broker, nats, token,
        cursor, address, settings, contracts, push,
    ]
}

/// What did not hold.
struct FuzzFinding: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

func require(_ holds: Bool, _ what: @autoclosure () -> String) throws(FuzzFinding) {
    guard holds else { throw FuzzFinding(what()) }
}
