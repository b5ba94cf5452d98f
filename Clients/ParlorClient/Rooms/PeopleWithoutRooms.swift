import Foundation
import Observation

/// The people who share no room with the person, to start one with.
///
/// One request is under way at a time. If several searches start meanwhile, only the last one is sent and
/// shown.
@MainActor @Observable
public final class PeopleWithoutRooms {
    /// The people, by username.
    public private(set) var people: [Person] = []
    /// The last search text: the beginning of a username or first name.
    public private(set) var prefix = ""
    public private(set) var isLoading = false
    /// The failure of the last request; the people shown before it stay.
    public private(set) var failure: ClientFailure?
    /// True if there are more people than are shown.
    public var hasMore: Bool { cursor != nil }

    private var cursor: String?
    @ObservationIgnored private let server: any RoomServer
    @ObservationIgnored private var running: Task<Void, Never>?
    @ObservationIgnored private var lastSearch = 0
    @ObservationIgnored private var partners: Set<String> = []

    public init(from server: any RoomServer) { self.server = server }

    /// Shows people whose name begins with the prefix, or everyone if it is empty. Returns when the request
    /// has ended, or earlier if another search replaces it.
    public func search(_ prefix: String) async {
        self.prefix = prefix.trimmingCharacters(in: .whitespacesAndNewlines)
        lastSearch += 1
        // The cursor belongs to another search.
        cursor = nil
        running?.cancel()
        await follow(from: nil)
    }

    /// Shows the next page. Does nothing while a request is under way, or if there are no more.
    public func loadMore() async {
        guard !isLoading, let cursor else { return }
        await follow(from: cursor)
    }

    /// Removes people who now share a room with the person.
    func leaveOut(_ partners: Set<String>) {
        guard partners != self.partners else { return }
        self.partners = partners
        guard people.contains(where: { partners.contains($0.id) }) else { return }
        people.removeAll { partners.contains($0.id) }
    }

    private func follow(from cursor: String?) async {
        isLoading = true
        let (search, previous) = (lastSearch, running)
        let task = Task {
            await previous?.value
            // A later search replaces this one.
            guard search == lastSearch else { return }
            await load(search, from: cursor)
        }
        running = task
        await task.value
    }

    private func load(_ search: Int, from cursor: String?) async {
        let result: Result<Page<Person>, ClientFailure>
        do {
            let wanted = prefix.isEmpty ? nil : prefix
            result = .success(try await server.peopleWithoutRooms(matching: wanted, limit: nil, cursor: cursor))
        } catch {
            result = .failure(ClientFailure(error))
        }
        guard search == lastSearch else { return }
        isLoading = false
        switch result {
        case .success(let page):
            let shown = cursor == nil ? [] : people
            let known = Set(shown.map(\.id)).union(partners)
            people = shown + page.items.filter { !known.contains($0.id) }
            self.cursor = page.next
            failure = nil
        case .failure(let reason): failure = reason
        }
    }
}
