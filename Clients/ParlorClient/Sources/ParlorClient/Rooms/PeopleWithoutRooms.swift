import Foundation
import Observation

/// The people with whom the person shares no room yet, for a screen that creates rooms.
///
/// One request is in progress at a time. If several searches start meanwhile, only the last one is sent and
/// shown. A request that failed and may succeed later is repeated, after pauses that grow to 30 s. That ends when it
/// succeeds, when another request replaces it, or with ``endSearch()``. After ``RoomsClient/stop()`` nothing is
/// repeated.
@MainActor @Observable
public final class PeopleWithoutRooms {
    /// The people, by username.
    public private(set) var people: [Person] = []
    /// The last search text: the beginning of a username or first name.
    public private(set) var prefix = ""
    /// True if ``people`` are the result of the last search. False before its answer, after its failure, and if
    /// ``endSearch()`` was called before the answer: the people are then those of an earlier search.
    public private(set) var isCurrent = false
    public private(set) var isLoading = false
    /// The failure of the last request; nil if it succeeded. The people shown before it stay.
    public private(set) var failure: ClientFailure?
    /// True if there are more people than are shown.
    public var hasMore: Bool { cursor != nil }

    private var cursor: String?
    @ObservationIgnored private let server: any RoomServer
    /// The last request. The next one waits for its end.
    @ObservationIgnored private var running: Task<Void, Never>?
    /// Counts searches and their ends, so that a superseded one can be noticed.
    @ObservationIgnored private var lastSearch = 0
    /// The people who share a room with the person.
    @ObservationIgnored private var partners: Set<String> = []
    @ObservationIgnored private let random: @Sendable () -> Double
    @ObservationIgnored private var backoff = Backoff(from: .seconds(1))
    /// The pause before the last request is repeated.
    @ObservationIgnored private let retrying: DelayedWork

    /// - Parameter random: returns a number from 0 up to 1, which spreads retries.
    package init(
        from server: any RoomServer, clock: any ClientClock = SystemClock(),
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) {
        self.server = server
        retrying = DelayedWork(clock)
        self.random = random
    }

    /// Shows people whose name begins with the prefix, or everyone if it is empty. Returns when the request
    /// has ended, or earlier if another search replaces it.
    public func search(_ prefix: String) async {
        self.prefix = prefix.trimmingCharacters(in: .whitespacesAndNewlines)
        lastSearch += 1
        isCurrent = false
        backoff.reset()
        // The cursor belongs to the earlier search.
        cursor = nil
        running?.cancel()
        await follow(from: nil)
    }

    /// Adds the next page. Does nothing while a request is in progress, or if there are no more people. If a page has
    /// nobody to add, because all of them share a room with the person by now, the page after it follows.
    public func loadMore() async {
        guard !isLoading else { return }
        let (search, before) = (lastSearch, people.count)
        while let cursor, search == lastSearch, people.count <= before, !Task.isCancelled {
            await follow(from: cursor)
            if failure != nil { return }
        }
    }

    /// Ends the search when its screen is closed. The answer to a request in progress is ignored, and nothing is
    /// repeated. The people stay, and ``loadMore()`` can continue from them.
    public func endSearch() {
        lastSearch += 1
        running?.cancel()
        retrying.cancel()
        isLoading = false
        backoff.reset()
    }

    /// Removes people who now share a room with the person, and leaves them out of later answers.
    func leaveOut(_ partners: Set<String>) {
        guard partners != self.partners else { return }
        self.partners = partners
        guard people.contains(where: { partners.contains($0.id) }) else { return }
        people.removeAll { partners.contains($0.id) }
    }

    private func follow(from cursor: String?) async {
        retrying.cancel()
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
            (isCurrent, failure) = (true, nil)
            backoff.reset()
        case .failure(let reason):
            failure = reason
            // Only the app starts a stopped client again.
            guard reason.isRetryable, reason != ClientFailure.stopped else { return }
            repeatLater(search, from: cursor, atLeast: reason.retryAfter)
        }
    }

    private func repeatLater(_ search: Int, from cursor: String?, atLeast asked: Duration?) {
        let wait = backoff.next(random: random(), atLeast: asked)
        // `weak`: if nothing uses this object any more, it makes no request.
        retrying.start(after: wait) { [weak self] in
            guard let self, search == lastSearch else { return }
            await follow(from: cursor)
        }
    }
}
