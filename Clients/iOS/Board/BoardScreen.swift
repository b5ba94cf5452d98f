import ParlorClient
import SwiftUI

/// A room's board. If two people edit a note at the same time, the first edit is stored, and the second person decides
/// which of the two stays.
struct BoardScreen: View {
    let client: RoomsClient
    let room: Room
    @State private var opened: OpenRoom?
    @State private var board: Board?

    var body: some View {
        ZStack {
            if let board { BoardContent(board: board, room: room, drafts: client.drafts) }
        }
        .connectionLine(client)
        .navigationTitle("Board")
        .navigationBarTitleDisplayMode(.inline)
        .onAppear {
            opened = client.open(room)
            board = opened?.board
        }
        .onDisappear { opened = nil }
    }
}

private struct BoardContent: View {
    let board: Board
    let room: Room
    let drafts: Drafts
    @State private var draft: NoteDraft?

    var body: some View {
        BoardCanvas(board: board, draft: $draft)
            .overlay { EmptyBoard(board: board) }
            .safeAreaInset(edge: .top, spacing: 0) { BoardNotices(board: board, room: room) }
            .toolbar {
                ToolbarItem(placement: .topBarTrailing) {
                    Button("New note", systemImage: "plus") { draft = NoteDraft() }
                }
                ToolbarItem(placement: .topBarTrailing) { ClearButton(board: board) }
            }
            .sheet(item: $draft) { draft in NoteEditor(board: board, draft: draft, drafts: drafts) }
    }
}

private struct ClearButton: View {
    let board: Board
    @State private var isAsking = false
    @State private var failure: String?

    var body: some View {
        Button("Clear board", systemImage: "trash") { isAsking = true }
            .disabled(board.items.isEmpty)
            .confirmationDialog("Clear the board?", isPresented: $isAsking, titleVisibility: .visible) {
                Button("Clear", role: .destructive) { Task { await $failure.catching { try await board.clear() } } }
            } message: {
                Text("Everything on it is removed for everyone.")
            }
            .failureAlert("The board was not cleared.", $failure)
    }
}

private struct EmptyBoard: View {
    let board: Board

    var body: some View {
        if board.items.isEmpty {
            if let failure = board.failure, !board.isLoading {
                LoadFailure("The board could not be loaded.", failure) { await board.refresh() }
            } else if board.isVerified {
                ContentUnavailableView("Nothing on the board yet", systemImage: "note.text")
            } else {
                ProgressView()
            }
        }
    }
}
