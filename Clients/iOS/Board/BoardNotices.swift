import ParlorClient
import SwiftUI

/// The conflicts to resolve, and why loading or storing has failed.
struct BoardNotices: View {
    let board: Board
    let room: Room

    var body: some View {
        VStack(alignment: .leading, spacing: 8) {
            ForEach(board.conflicts) { conflict in
                ConflictNotice(conflict: conflict, rival: room.name(of: conflict.current.updatedBy), board: board)
            }
            if let reason = board.keepFailure {
                FailureLabel("Changes cannot be kept on this device: \(reason)")
            }
            if board.setAside != nil {
                FailureLabel("Some of your earlier changes could not be read, and were set aside.")
            }
            if let failure = board.failure, !failure.isOffline, !board.items.isEmpty {
                FailureLabel(verbatim: failure.sentence)
            }
        }
        .padding(.horizontal)
        .frame(maxWidth: .infinity, alignment: .leading)
        .background(.bar)
    }
}

/// Both versions of a note, and the buttons to choose one. A note that was deleted has one version left.
private struct ConflictNotice: View {
    let conflict: BoardConflict
    /// The name of the person who changed the note last; nil if that person is no longer in the room.
    let rival: String?
    let board: Board

    var body: some View {
        VStack(alignment: .leading, spacing: 4) {
            headline.font(.footnote.bold())
            if !conflict.isDeleted { Text("Theirs: \(conflict.current.words)").font(.footnote) }
            Text("Yours: \(conflict.content["text"]?.string ?? "")").font(.footnote)
            HStack {
                if conflict.isDeleted {
                    Button("Discard") { board.resolve(conflict.id, overwriting: false) }
                    Button("Save as a new note") { board.resolve(conflict.id, overwriting: true) }
                } else {
                    Button("Keep theirs") { board.resolve(conflict.id, overwriting: false) }
                    Button("Use mine") { board.resolve(conflict.id, overwriting: true) }
                }
            }
            .buttonStyle(.bordered)
        }
        .padding(.vertical, 8)
        .accessibilityElement(children: .contain)
    }

    private var headline: Text {
        if conflict.isDeleted { return Text("This note was deleted while you were writing.") }
        guard let rival else { return Text("Somebody changed this note first.") }
        return Text("\(rival) changed this note first.")
    }
}
