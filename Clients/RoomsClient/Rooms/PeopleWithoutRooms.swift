import Foundation
import Observation

/// The people one shares no room with, as one looks for somebody to begin one with.
///
/// One request is under way at a time. Of searches that are asked for meanwhile, the last one alone is asked, and only what it
/// finds is shown.
@MainActor @Observable
public final class PeopleWithoutRooms {
    /// By username.
    public private(set) var people: [Person] = []
    /// The last search text: the beginning of a username or first name.
    public private(set) var prefix = ""
    public private(set) var isLoading = false
    /// The failure of the last request; all that is shown stays.
    public private(set) var failure: ClientFailure?
    /// True if there are more people than are shown.
    public var hasMore: Bool { cursor != nil }

    private var cursor: String?
    @ObservationIgnored private let server: any RoomServer
    @ObservationIgnored private var running: Task<Void, Never>?
    @ObservationIgnored private var lastSearch = 0
    @ObservationIgnored private var partners: Set<String> = []

    public init(from server: any RoomServer) { self.server = server }

    /// Shows those whose name begins so; all of them for an empty one. Returns when they, or those of a later search, are there.
    public func search(_ prefix: String) async {
        self.prefix = prefix.trimmingCharacters(in: .whitespacesAndNewlines)
        lastSearch += 1
        // It leads on from what another search has found.
        cursor = nil
        running?.cancel()
        await follow(from: nil)
    }

    /// Shows the next ones. Nothing happens while a request is under way, or if there are none.
    public func loadMore() async {
        guard !isLoading, let cursor else { return }
        await follow(from: cursor)
    }

    /// They share a room with the person now.
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
            // A later one is about to be asked.
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
