import Foundation

/// An own change of a board that is not confirmed by the server.
struct BoardOperation: Codable, Equatable, Sendable, Identifiable {
    enum Change: Codable, Equatable, Sendable {
        case create(type: String, content: JSON, position: Element.Position?, at: Date)
        /// Content based on a version; nil to replace any version.
        case edit(content: JSON, version: Int?)
        /// The last move wins: a conflict over a drag is not worth a question.
        case move(Element.Position?)
        case delete
    }

    /// The id, unique on this board in this process.
    let id: Int
    /// The element's id. Before the element is created, it is the creation's `tempId`.
    var elementID: String
    var change: Change
    /// The server's refusal; nil while the change waits or is being sent.
    var failure: SendFailure?

    var isCreation: Bool { if case .create = change { true } else { false } }
}

/// Own content that was not stored because others changed the element first.
public struct BoardConflict: Codable, Equatable, Sendable, Identifiable {
    /// The element's id.
    public let id: String
    /// The server's current version.
    public var current: Element
    /// The own content.
    public var content: JSON
}

/// An element with its unconfirmed changes.
public struct BoardItem: Equatable, Sendable, Identifiable {
    public enum State: Equatable, Sendable {
        /// The server has it as shown.
        case stored
        /// A change waits or is being sent.
        case saving
        /// The server refused a change: use ``Board/retry(_:)`` or ``Board/discard(_:)``.
        case failed(SendFailure)
    }

    /// The `tempId` of an element created here, otherwise the element's id. It does not change when the
    /// element is stored, so a view keeps it.
    public let id: String
    public var element: Element
    public var state: State
}
