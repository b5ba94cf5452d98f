import ParlorClient
import SwiftUI

/// Edits a note or writes a new one. If somebody changes or deletes the note meanwhile, it says so.
struct NoteEditor: View {
    let board: Board
    let draft: NoteDraft
    let drafts: Drafts
    @State private var text: String
    @Environment(\.dismiss) private var dismiss

    /// - Parameter drafts: keeps what is written until it is saved or cancelled.
    init(board: Board, draft: NoteDraft, drafts: Drafts) {
        self.board = board
        self.draft = draft
        self.drafts = drafts
        let kept = drafts[board.roomID, note: draft.draftID]
        _text = State(initialValue: kept.isEmpty ? draft.text : kept)
    }

    var body: some View {
        NavigationStack {
            Form {
                Section {
                    TextEditor(text: $text)
                        .frame(minHeight: 160)
                        .accessibilityLabel("Text of the note")
                } footer: {
                    footer
                }
            }
            .onChange(of: text) { _, text in drafts[board.roomID, note: draft.draftID] = text }
            .navigationTitle(draft.itemID == nil ? "New note" : "Edit note")
            .navigationBarTitleDisplayMode(.inline)
            .toolbar {
                ToolbarItem(placement: .cancellationAction) { Button("Cancel") { end() } }
                ToolbarItem(placement: .confirmationAction) {
                    Button(isTheirs ? "Replace" : "Save") { save() }.disabled(text.allSatisfy(\.isWhitespace))
                }
            }
        }
    }

    private var isTheirs: Bool { if case .changed = draft.now(on: board) { true } else { false } }

    @ViewBuilder private var footer: some View {
        if let failure = board.failure, failure.isRoomGone {
            FailureLabel(verbatim: failure.sentence)
        }
        switch draft.now(on: board) {
        case .unchanged: EmptyView()
        case .changed(let theirs): Text("This was changed meanwhile to “\(theirs)”. Your text would replace it.")
        case .deleted: Text("This note was deleted meanwhile. Saving makes a new one.")
        }
    }

    private func save() {
        // If the room is gone, the text stays, and can be copied.
        if draft.save(text, on: board) { end() }
    }

    private func end() {
        drafts[board.roomID, note: draft.draftID] = ""
        dismiss()
    }
}
