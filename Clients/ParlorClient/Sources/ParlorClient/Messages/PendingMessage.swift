import Foundation

/// A message of the person that is not known to be stored on the server.
package struct PendingMessage: Hashable, Sendable, Identifiable {
    package enum State: Hashable, Sendable {
        /// It waits for its turn, or for the connection.
        case queued
        /// It is sent, but not answered yet.
        case sending
        /// The server refuses it, the disk failed to store or delete it, or it is too old. It stays until it is retried
        /// or discarded.
        case failed(SendFailure)

        var isFailed: Bool {
            if case .failed = self { true } else { false }
        }
    }

    /// The idempotency key, the same for every attempt.
    package let tempID: String
    package let text: String
    /// This device's time.
    package let createdAt: Date
    package var state: State

    package var id: String { tempID }

    package init(tempID: String, text: String, createdAt: Date, state: State = .queued) {
        self.tempID = tempID
        self.text = text
        self.createdAt = createdAt
        self.state = state
    }
}

/// The reason why a message or a board change is not sent, unless the person retries.
public struct SendFailure: Error, Codable, Hashable, Sendable {
    /// A server's code from docs/api.md, `not_kept` or `not_discarded` if this device's disk failed, `too_old` for a
    /// message that could not be sent for a day, or `stopped` if the client was released.
    public var code: String
    /// A text for a person.
    public var message: String

    public init(code: String, message: String) {
        self.code = code
        self.message = message
    }

    static let tooOld = SendFailure(code: "too_old", message: "This was written over a day ago, and is not sent yet.")
}

extension PendingMessage: Codable {
    private enum CodingKeys: CodingKey {
        case tempID, text, createdAt, failure
    }

    /// Decodes a message. If it was being sent when it was stored, it is queued again: it may or may not have arrived.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        tempID = try container.decode(String.self, forKey: .tempID)
        text = try container.decode(String.self, forKey: .text)
        createdAt = try container.decode(Date.self, forKey: .createdAt)
        state = try container.decodeIfPresent(SendFailure.self, forKey: .failure).map(State.failed) ?? .queued
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(tempID, forKey: .tempID)
        try container.encode(text, forKey: .text)
        try container.encode(createdAt, forKey: .createdAt)
        if case .failed(let failure) = state { try container.encode(failure, forKey: .failure) }
    }
}

extension SendFailure: LocalizedError {
    public var errorDescription: String? { message }
}
