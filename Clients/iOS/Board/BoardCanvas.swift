import ParlorClient
import SwiftUI

/// The elements at their positions, on a plane that is large enough for all of them.
struct BoardCanvas: View {
    let board: Board
    @Binding var draft: NoteDraft?

    var body: some View {
        // The layout is computed once for each change of the board. A drag changes the board only at its end.
        let layout = BoardLayout(board.items)
        ScrollView([.horizontal, .vertical]) {
            ZStack(alignment: .topLeading) {
                ForEach(board.items) { item in
                    BoardCard(item: item, board: board, layout: layout) { draft = NoteDraft(item) }
                        .offset(x: layout.place(of: item.id).x, y: layout.place(of: item.id).y)
                }
            }
            .frame(width: layout.size.width, height: layout.size.height, alignment: .topLeading)
        }
        .defaultScrollAnchor(.topLeading)
    }
}

/// An element that can be dragged. For VoiceOver, it has actions that move it.
private struct BoardCard: View {
    let item: BoardItem
    let board: Board
    let layout: BoardLayout
    let edit: () -> Void
    /// The drag so far. It is state of this card, so a drag does not draw any other view again.
    @GestureState private var drag = CGSize.zero

    private static let step = 48.0

    var body: some View {
        card
            .frame(width: item.element.size.width, height: item.element.size.height)
            .offset(drag)
            .gesture(dragging)
            .onTapGesture { if item.element.isEditableNote { edit() } }
            .contextMenu { actions }
            .accessibilityElement(children: .combine)
            .accessibilityLabel(spoken)
            .accessibilityAddTraits(item.element.isEditableNote ? .isButton : [])
            .accessibilityAction(named: "Move up") { move(by: CGSize(width: 0, height: -Self.step)) }
            .accessibilityAction(named: "Move down") { move(by: CGSize(width: 0, height: Self.step)) }
            .accessibilityAction(named: "Move left") { move(by: CGSize(width: -Self.step, height: 0)) }
            .accessibilityAction(named: "Move right") { move(by: CGSize(width: Self.step, height: 0)) }
    }

    private var card: some View {
        VStack(alignment: .leading) {
            if !item.element.isNote { Text(item.element.type).font(.caption).foregroundStyle(.secondary) }
            // A card has the size that others see, so large text is smaller here. The editor and VoiceOver have all of
            // it.
            Text(item.element.words)
                .minimumScaleFactor(0.5)
                .frame(maxWidth: .infinity, maxHeight: .infinity, alignment: .topLeading)
            if case .failed(let reason) = item.state { FailureLabel(verbatim: reason.sentence) }
        }
        .padding(10)
        .background(Color.yellow.opacity(0.3), in: .rect(cornerRadius: 10))
        .opacity(item.state == .saving ? 0.7 : 1)
    }

    private var spoken: Text {
        let kind = item.element.isNote ? Text("Note") : Text(item.element.type)
        let state =
            switch item.state {
            case .stored: Text("saved")
            case .saving: Text("saving")
            case .failed: Text("not saved")
            }
        return Text("\(kind): \(item.element.words), \(state)")
    }

    private var dragging: some Gesture {
        DragGesture()
            .updating($drag) { value, drag, _ in drag = value.translation }
            .onEnded { move(by: $0.translation) }
    }

    private func move(by offset: CGSize) {
        board.move(item.id, to: layout.position(of: item.id, movedBy: offset))
    }

    @ViewBuilder private var actions: some View {
        if case .failed = item.state {
            Button("Retry", systemImage: "arrow.clockwise") { board.retry(item.id) }
            Button("Discard the change", systemImage: "arrow.uturn.backward") { board.discard(item.id) }
        }
        if item.element.isEditableNote { Button("Edit", systemImage: "pencil") { edit() } }
        Button("Delete", systemImage: "trash", role: .destructive) { board.delete(item.id) }
    }
}
