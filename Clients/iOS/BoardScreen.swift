import RoomsClient
import SwiftUI

/// One room's elements, live: a drag is shown at once and sent as one change.
struct BoardScreen: View {
    let client: RoomsClient
    let roomID: String
    @State private var board: Board?
    @State private var text = ""

    var body: some View {
        VStack {
            ZStack {
                ForEach(board?.items ?? []) { item in
                    Text(item.element.content["text"]?.string ?? item.element.type)
                        .opacity(item.state == .stored ? 1 : 0.5)
                        .offset(x: item.element.position?.x ?? 0, y: item.element.position?.y ?? 0)
                        .gesture(
                            DragGesture().onChanged { drag in
                                board?.move(item.id, to: Element.Position(x: drag.location.x, y: drag.location.y))
                            }
                        )
                        .contextMenu { Button("Delete", systemImage: "trash") { board?.delete(item.id) } }
                }
            }
            ForEach(board?.conflicts ?? []) { conflict in
                HStack {
                    Text("Others have changed “\(conflict.current.content["text"]?.string ?? "")”.")
                    Button("Keep theirs") { board?.resolve(conflict.id, overwriting: false) }
                    Button("Use mine") { board?.resolve(conflict.id, overwriting: true) }
                }
            }
            TextField("Note", text: $text)
                .onSubmit {
                    board?.create(type: "note", content: ["text": .string(text)])
                    text = ""
                }
        }
        .navigationTitle("Board")
        .task { if let room = client.rooms[roomID] { board = client.openBoard(room) } }
        .onDisappear { if let board { Task { await client.close(board) } } }
    }
}

struct BoardScreen_Previews: PreviewProvider {
    static var previews: some View { BoardScreen(client: PreviewClient.client, roomID: PreviewClient.roomID) }
}
