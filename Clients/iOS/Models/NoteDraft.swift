import Foundation
import ParlorClient

/// A note as it was when its editor opened, or a new note.
struct NoteDraft: Identifiable {
    /// The identity of the editor's sheet.
    let id = UUID()
    /// The note on the board; nil for a new note.
    let itemID: BoardItem.ID?
    let content: JSON
    /// The name of what is written for it, in `Drafts`.
    var draftID: String { itemID ?? "new" }

    init() { (itemID, content) = (nil, .note("")) }

    init(_ item: BoardItem) { (itemID, content) = (item.id, item.element.content) }

    var text: String { content["text"]?.string ?? "" }

    /// What has happened to the note since its editor opened.
    enum Now: Equatable {
        case unchanged
        /// Somebody has changed the note. Saving replaces their text.
        case changed(theirs: String)
        /// Somebody has deleted the note. Saving makes a new one.
        case deleted
    }

    @MainActor
    func now(on board: Board) -> Now {
        guard let itemID else { return .unchanged }
        guard let item = board[itemID] else { return .deleted }
        return item.element.content == content ? .unchanged : .changed(theirs: item.element.words)
    }

    /// Changes or creates the note. The board shows it at once.
    ///
    /// - Returns: false if nothing is saved, because the room is gone.
    @MainActor
    func save(_ text: String, on board: Board) -> Bool {
        if let itemID, let item = board[itemID], item.element.isContentWhole {
            board.edit(itemID, content: item.element.content.replacingText(text))
            return true
        }
        let position = BoardLayout(board.items).freePosition
        return board.create(type: Element.note, content: content.replacingText(text), at: position) != nil
    }
}
