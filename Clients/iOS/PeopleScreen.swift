import RoomsClient
import SwiftUI

/// Where a screen leads: by ids, so that a push leads there too.
enum Route: Hashable {
    case person(String)
    case room(String)
    case board(String)
}

/// The people one shares rooms with; with one more tap a room with somebody new, or another one with the same person.
struct PeopleScreen: View {
    let client: RoomsClient
    @State private var isAdding = false
    @State private var failure: ClientFailure?

    var body: some View {
        List(client.rooms.people) { entry in
            NavigationLink(value: Route.person(entry.id)) {
                HStack {
                    Text(entry.person.displayName)
                    Spacer()
                    Text("\(entry.rooms.count) rooms").foregroundStyle(.secondary)
                }
            }
        }
        .navigationTitle("People")
        .toolbar { Button("New room", systemImage: "plus") { isAdding = true } }
        .sheet(isPresented: $isAdding) {
            NewRoomScreen(client: client) { person in
                isAdding = false
                do { _ = try await client.rooms.makeRoom(with: person.id) } catch { failure = error as? ClientFailure }
            }
        }
        .failureAlert($failure)
        .refreshable { await client.rooms.refresh() }
    }
}

/// The rooms with one person: two of the same pair differ by their date and what happened last.
struct PersonScreen: View {
    let client: RoomsClient
    let personID: String

    var body: some View {
        let entry = client.rooms.people.first { $0.id == personID }
        List(entry?.rooms ?? []) { room in
            NavigationLink(value: Route.room(room.id)) {
                VStack(alignment: .leading) {
                    Text(room.title()).font(.headline)
                    HStack {
                        Image(systemName: room.lastActivityType == .message ? "message" : "square.and.pencil")
                        Text("Created")
                        Text(room.createdAt, style: .relative)
                    }
                    .font(.caption)
                }
            }
        }
        .navigationTitle(entry?.person.displayName ?? "")
    }
}

/// People one knows, then strangers, loaded on as one scrolls.
struct NewRoomScreen: View {
    let client: RoomsClient
    let pick: @MainActor (Person) async -> Void
    @State private var text = ""

    var body: some View {
        let strangers = client.rooms.peopleWithoutRooms
        List {
            if text.isEmpty {
                ForEach(client.rooms.people) { entry in
                    Button(entry.person.displayName) { Task { await pick(entry.person) } }
                }
            }
            ForEach(strangers.people) { person in
                Button(person.displayName) { Task { await pick(person) } }
            }
            if strangers.hasMore { ProgressView().task { await strangers.loadMore() } }
        }
        .searchable(text: $text)
        .task(id: text) { await strangers.search(text) }
    }
}

struct PeopleScreen_Previews: PreviewProvider {
    static var previews: some View { NavigationStack { PeopleScreen(client: PreviewClient.client) } }
}
