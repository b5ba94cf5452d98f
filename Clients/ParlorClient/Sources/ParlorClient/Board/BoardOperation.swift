import Foundation

/// A change of a board by this person that the server has not confirmed.
struct BoardOperation: Codable, Equatable, Sendable, Identifiable {
    enum Change: Codable, Equatable, Sendable {
        case create(type: String, content: JSON, position: Element.Position?, at: Date)
        /// New content, based on a version of the element; nil to replace any version.
        case edit(content: JSON, version: Int?)
        /// A move has no version: the last one wins, because nobody wants to be asked about a drag.
        case move(Element.Position?)
        case delete
    }

    /// The id, unique on this board in this process.
    let id: Int
    /// The element's id. Before the element is created, it is the creation's `tempID`.
    var elementID: String
    var change: Change
    /// The server's refusal; nil while the change waits or is being sent.
    var failure: SendFailure?

    /// This change with its version clamped, as in every decoded element, so that adding to it cannot overflow.
    var withCountedVersion: Self {
        guard case .edit(let content, let version?) = change else { return self }
        var counted = self
        counted.change = .edit(content: content, version: version.asCount)
        return counted
    }

    var isCreation: Bool { if case .create = change { true } else { false } }
    var isEdit: Bool { if case .edit = change { true } else { false } }
}

/// Content of this person that the server did not store, because others had changed or deleted the element first.
public struct BoardConflict: Codable, Equatable, Sendable, Identifiable {
    /// The element's id.
    public let id: String
    /// The element as the server has it, or had it last.
    public internal(set) var current: Element
    /// The person's content, which is not stored.
    public let content: JSON
    /// Nil in files of earlier versions.
    private var deleted: Bool?

    /// True if the element was deleted. The person's content can then become a new element.
    public internal(set) var isDeleted: Bool {
        get { deleted ?? false }
        set { deleted = newValue }
    }

    init(id: String, current: Element, content: JSON) {
        (self.id, self.current, self.content) = (id, current, content)
    }

    /// The conflict with a deletion.
    ///
    /// - Parameter last: nil if the element was never loaded.
    init(id: String, of last: Element?, createdBy ownID: String, in roomID: String, content: JSON) {
        let current =
            last
            ?? Element(
                id: id, roomID: roomID, type: "note", content: .object([:]), position: nil, createdBy: ownID,
                createdAt: .distantPast, updatedBy: ownID, updatedAt: .distantPast, version: 0)
        self.init(id: id, current: current, content: content)
        isDeleted = true
    }
}

/// An element on a board, with the person's unconfirmed changes applied.
public struct BoardItem: Equatable, Sendable, Identifiable {
    /// Whether the server has the element as it is shown.
    public enum State: Equatable, Sendable {
        /// The server has it as shown.
        case stored
        /// A change waits or is being sent.
        case saving
        /// The server refused a change: use ``Board/retry(_:)`` or ``Board/discard(_:)``.
        case failed(SendFailure)
    }

    /// The `tempID` of an element created here, otherwise the element's id. It does not change when the element is
    /// stored, so it can identify a view.
    public let id: String
    public var element: Element
    public var state: State
}
