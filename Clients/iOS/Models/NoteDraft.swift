import Foundation
import RoomsClient

/// A note as it was when its editor opened; a new one has no item yet.
struct NoteDraft: Identifiable {
    /// Of the editor, so that two new notes are two.
    let id = UUID()
    let itemID: BoardItem.ID?
    let content: JSON

    init() { (itemID, content) = (nil, .note("")) }

    init(_ item: BoardItem) { (itemID, content) = (item.id, item.element.content) }

    var text: String { content["text"]?.string ?? "" }

    /// What has become of the note since.
    enum Now: Equatable {
        case unchanged
        /// Somebody has changed it. Saved, one's own text takes the place of theirs.
        case changed(theirs: String)
        /// Somebody has deleted it. Saved, it is a new note.
        case deleted
    }

    @MainActor
    func now(on board: Board) -> Now {
        guard let itemID else { return .unchanged }
        guard let item = board[itemID] else { return .deleted }
        return item.element.content == content ? .unchanged : .changed(theirs: item.element.words)
    }

    /// Shows the note with this text, and has it sent.
    @MainActor
    func save(_ text: String, on board: Board) {
        if let itemID, let item = board[itemID] {
            board.edit(itemID, content: item.element.content.replacingText(text))
        } else {
            board.create(
                type: Element.note, content: content.replacingText(text), at: BoardLayout(board.items).freePosition)
        }
    }
}
