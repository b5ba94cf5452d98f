import ParlorClient
import SwiftUI

/// The people with whom the person shares rooms, and all others. The others are loaded page by page while scrolling.
struct PeopleScreen: View {
    let client: RoomsClient
    /// Shows a room that was just created.
    let open: (Room) -> Void
    @State private var query = ""
    @State private var partner: Person?

    /// The pause between a keystroke and the search. Another keystroke restarts the pause.
    private static let pause = Duration.milliseconds(300)

    var body: some View {
        List {
            PeopleWithRooms(rooms: client.rooms, ownID: client.user.id, query: query) { partner = $0 }
            OtherPeople(people: client.rooms.peopleWithoutRooms) { partner = $0 }
        }
        .searchable(text: $query, prompt: "Username or first name")
        .task(id: query) { await search() }
        // Otherwise the library would repeat a failed search for a screen that nobody sees.
        .onDisappear { client.rooms.peopleWithoutRooms.endSearch() }
        .refreshable { [query] in
            await client.rooms.refresh()
            await client.rooms.peopleWithoutRooms.search(query)
        }
        .connectionLine(client)
        .navigationTitle("People")
        .sheet(item: $partner) { partner in
            NewRoomScreen(partner: partner) { name in
                let room = try await client.rooms.makeRoom(with: partner.id, name: name.isEmpty ? nil : name)
                try Task.checkCancellation()
                open(room)
            }
        }
    }

    private func search() async {
        let people = client.rooms.peopleWithoutRooms
        if !query.isEmpty {
            // The next keystroke cancels this.
            do { try await Task.sleep(for: Self.pause) } catch { return }
        } else if people.prefix.isEmpty, people.isCurrent {
            // The person has come back from another tab, and everybody is already loaded.
            return
        }
        await people.search(query)
    }
}

private struct PeopleWithRooms: View {
    let rooms: RoomList
    let ownID: Person.ID
    let query: String
    let start: (Person) -> Void

    var body: some View {
        let people = shown
        if !people.isEmpty {
            Section("People you share rooms with") {
                ForEach(people) { group in
                    DisclosureGroup {
                        RoomRows(rooms: group.rooms, list: rooms, ownID: ownID)
                        Button("New room with \(group.person.displayName)", systemImage: "plus") {
                            start(group.person)
                        }
                    } label: {
                        PersonRow(person: group.person, rooms: group.rooms)
                    }
                }
            }
        }
    }

    private var shown: [PersonWithRooms] {
        let prefix = query.trimmingCharacters(in: .whitespaces)
        return prefix.isEmpty ? rooms.people : rooms.people.filter { $0.person.matches(prefix) }
    }
}

private struct OtherPeople: View {
    let people: PeopleWithoutRooms
    let start: (Person) -> Void

    var body: some View {
        Section("Others") {
            ForEach(people.people) { person in
                Button {
                    start(person)
                } label: {
                    PersonRow(person: person, rooms: [])
                }
                .tint(.primary)
                .accessibilityHint("Starts a room")
            }
            if let failure = people.failure {
                FailureLabel(verbatim: failure.sentence)
                Button("Try again") { Task { await loadAgain() } }
            } else if people.hasMore {
                // When this becomes visible, it loads a page. If it is still visible then, it loads the next one.
                ProgressView()
                    .frame(maxWidth: .infinity)
                    .task(id: people.people.count) { await people.loadMore() }
            } else if people.isLoading {
                ProgressView().frame(maxWidth: .infinity)
            } else if people.people.isEmpty {
                Text(people.prefix.isEmpty ? "There is nobody else." : "Nobody found.")
                    .foregroundStyle(.secondary)
            }
        }
    }

    private func loadAgain() async {
        if people.hasMore { await people.loadMore() } else { await people.search(people.prefix) }
    }
}

private struct PersonRow: View {
    let person: Person
    let rooms: [Room]

    var body: some View {
        HStack {
            VStack(alignment: .leading) {
                Text(person.displayName)
                Text(person.username)
                    .font(.caption)
                    .foregroundStyle(.secondary)
            }
            Spacer()
            if !rooms.isEmpty {
                RoomBadges(badges: sum)
                Text("^[\(rooms.count) room](inflect: true)")
                    .font(.caption)
                    .foregroundStyle(.secondary)
            }
        }
        .accessibilityElement(children: .combine)
    }

    private var sum: Room.Badges {
        rooms.reduce(into: Room.Badges()) { sum, room in
            sum.messages += room.badges.messages
            sum.elements += room.badges.elements
        }
    }
}
