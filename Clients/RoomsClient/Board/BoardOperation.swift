import Foundation

/// An own change of a board that the server does not have yet.
struct BoardOperation: Codable, Equatable, Sendable, Identifiable {
    enum Change: Codable, Equatable, Sendable {
        case create(type: String, content: JSON, position: Element.Position?, at: Date)
        /// Content that is based on a version; nil: on none, and it replaces whatever is there.
        case edit(content: JSON, version: Int?)
        /// The last one wins: nobody wants to be asked about a drag.
        case move(Element.Position?)
        case delete
    }

    /// Of this board and in this process, no two are alike.
    let id: Int
    /// The element's id; of one that the server does not have yet, the `tempId` that makes it.
    var elementID: String
    var change: Change
    /// The server's reason to refuse it; nil while it waits or is under way.
    var failure: SendFailure?

    var isCreation: Bool { if case .create = change { true } else { false } }
}

/// Own content that was not stored, because others changed the element first.
public struct BoardConflict: Codable, Equatable, Sendable, Identifiable {
    /// The element's.
    public let id: String
    /// As the server has it now.
    public var current: Element
    /// The own content.
    public var content: JSON
}

/// An element with the changes that are still on their way.
public struct BoardItem: Equatable, Sendable, Identifiable {
    public enum State: Equatable, Sendable {
        /// The server has it as it is shown.
        case stored
        /// A change of it is on its way.
        case saving
        /// The server has refused a change: ``Board/retry(_:)`` or ``Board/discard(_:)``.
        case failed(SendFailure)
    }

    /// Stays the same when the server has stored it, so that a view keeps it: of those made here, the `tempId`.
    public let id: String
    public var element: Element
    public var state: State
}
