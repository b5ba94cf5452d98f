import RoomsClient
import SwiftUI

/// Names a room; an empty name takes it away.
struct NamingView: View {
    let client: RoomsClient
    let roomID: String
    let done: () -> Void
    @State private var name = ""
    @State private var failure: ClientFailure?

    var body: some View {
        VStack {
            TextField("Name this room", text: $name).onSubmit { Task { await save() } }
            Button("Save") { Task { await save() } }
        }
        .task { name = client.rooms[roomID]?.name ?? "" }
        .failureAlert($failure)
    }

    private func save() async {
        do {
            try await client.rooms.rename(roomID, to: name)
            done()
        } catch {
            failure = error as? ClientFailure
        }
    }
}

extension View {
    /// Says what did not succeed: `ClientFailure` has a sentence for a person.
    func failureAlert(_ failure: Binding<ClientFailure?>) -> some View {
        let isShown = Binding(get: { failure.wrappedValue != nil }, set: { if !$0 { failure.wrappedValue = nil } })
        return alert(isPresented: isShown, error: failure.wrappedValue) { Button("OK") { failure.wrappedValue = nil } }
    }
}

struct NamingView_Previews: PreviewProvider {
    static var previews: some View { NamingView(client: PreviewClient.client, roomID: PreviewClient.roomID) {} }
}
