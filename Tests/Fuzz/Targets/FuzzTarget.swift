/// An entry point for external bytes, with its invariants.
///
/// `run` traps or throws if an invariant does not hold. It keeps nothing between inputs: equal
/// bytes take the same path each time.
struct FuzzTarget: Sendable {
    /// The name of its corpus, its dictionary, and its `deploy/fuzz` argument.
    let name: String
    /// The length beyond which inputs find nothing new.
    let maxLength: Int
    let run: @Sendable ([UInt8]) throws(FuzzFinding) -> Void

    static let all = [
        http, webSocket, webSocketFrames, polling, session, socketIO, json, jsonWriter, busLine, broker, nats, token,
        cursor, address, settings, contracts, push,
    ]
}

/// A violated invariant.
struct FuzzFinding: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

func require(_ holds: Bool, _ what: @autoclosure () -> String) throws(FuzzFinding) {
    guard holds else { throw FuzzFinding(what()) }
}
