import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorMessageBus
import ParlorTestSupport
import Synchronization
import Testing

/// A service that answers as the test says, and fails the test on any other request. It keeps the
/// event logs of its manifest's layout.
public final class FakeService: Sendable {
    public typealias Handler = @Sendable (BusRequest) -> Void

    private struct State {
        var handlers: [String: Handler] = [:]
        var layout: LogLayout
        /// The entries by the numbers of their logs.
        var entries: [Int: [LogEntry]] = [:]
        var subscriptions: [BusSubscription] = []
        var databaseID = "first"

        func head(of log: Int) -> LogPosition { LogPosition(after: entries[log]?.last, in: databaseID) }

        var heads: [Int: LogPosition] {
            Dictionary(uniqueKeysWithValues: layout.numbers.map { ($0, head(of: $0)) })
        }

        mutating func append(
            _ emissions: [Emission], fact: Fact? = nil, room: String, participants: [String]
        ) -> LogEntry {
            var (emissions, fact) = (emissions, fact)
            let log = layout.number(ofRoom: room)
            let entry = LogEntry(
                log: log, seq: (entries[log]?.last?.seq ?? 0) + 1, at: Timestamp(milliseconds: 0), roomID: room,
                participants: participants, emissionsJSON: emissions.write(after: &fact))
            entries[log, default: []].append(entry)
            return entry
        }
    }

    public let manifest: Manifest
    private let bus: any MessageBus
    private let state: Mutex<State>

    private init(_ manifest: Manifest, on bus: any MessageBus) {
        self.manifest = manifest
        self.bus = bus
        state = Mutex(State(layout: manifest.logLayout))
    }

    /// Starts it, and announces it.
    public static func start(_ manifest: Manifest, on bus: any MessageBus) throws -> FakeService {
        let service = down(manifest, on: bus)
        try service.bringUp()
        return service
    }

    /// Makes one that is down until `bringUp()`.
    public static func down(_ manifest: Manifest, on bus: any MessageBus) -> FakeService {
        let service = FakeService(manifest, on: bus)
        service.on(Subject.health(of: manifest.service)) { $0.reply(Reply().json) }
        service.on(Subject.refusal(of: manifest.service)) { $0.reply(Reply().json) }
        service.on(Subject.logPage(of: service.logID)) { [weak service] in service?.answerEvents($0) }
        // Gateways ask it once, of the service that is the test's Rooms.
        service.on(Subject.pendingChanges, reply: Reply(.ok, .emptyArray))
        return service
    }

    public var logID: LogID { LogID(manifest.service) }

    // MARK: Requests

    public func on(_ subject: String, _ handler: @escaping Handler) {
        state.withLock { $0.handlers[subject] = handler }
    }
    public func on(_ subject: String, reply: Reply) { on(subject) { $0.reply(reply.json) } }
    public func on(_ subject: String, error: ServiceError) { on(subject) { $0.reply(error.json) } }

    /// Passes a subject's requests to the test, which answers them later.
    public func hold(_ subject: String) -> Arrivals<BusRequest> {
        let requests = Arrivals<BusRequest>()
        on(subject) { requests.add($0) }
        return requests
    }

    private func receive(_ request: BusRequest) {
        guard let handler = state.withLock({ $0.handlers[request.subject] }) else {
            Issue.record("\(request.subject) was not expected")
            return request.reply(ServiceError(.internal, "This was not expected.").json)
        }
        handler(request)
    }

    // MARK: Being there

    /// Stops answering its subjects.
    public func takeDown() {
        for subscription in state.withLock({ $0.subscriptions }) { subscription.cancel() }
    }

    /// Stops for good, and releases what the handlers hold.
    public func stop() {
        takeDown()
        state.withLock { $0.handlers = [:] }
    }

    public func bringUp() throws {
        let name = manifest.service
        let requests = try bus.respond(to: "\(name).>", queue: name) { [weak self] in self?.receive($0) }
        let discoveries = try bus.subscribe(Subject.discover) { [weak self] _ in self?.announce() }
        state.withLock { $0.subscriptions = [requests, discoveries] }
        announce()
    }

    /// - Parameter manifest: its manifest now, if it differs from that at its start.
    public func announce(_ manifest: Manifest? = nil) {
        let (layout, heads) = state.withLock { ($0.layout, $0.heads) }
        var manifest = manifest ?? self.manifest
        manifest.logLayout = layout
        publish(
            Subject.announce(of: manifest.service),
            JSONWriter.object {
                if layout == .single {
                    $0.member("head", object: { [head = heads[0]] in head?.writeMembers(to: &$0) })
                } else {
                    heads.write(to: &$0)
                }
                $0.member("manifest", manifest.json)
            })
    }

    // MARK: The event log

    /// The head of its only log.
    public var head: LogPosition { state.withLock { $0.head(of: 0) } }

    /// The heads of all its logs.
    public var heads: [LogID: LogPosition] {
        let heads = state.withLock { $0.heads }
        return Dictionary(uniqueKeysWithValues: heads.map { (LogID(manifest.service, $0.key), $0.value) })
    }

    /// Writes to other logs from now on, and announces that.
    public func spread(over layout: LogLayout) {
        state.withLock { $0.layout = layout }
        announce()
    }

    /// Writes an entry; it reaches nobody until it is published or fetched.
    public func commit(
        _ emissions: [Emission], fact: Fact? = nil, room: String = "r", participants: [String] = ["ada", "bob"]
    ) -> LogEntry {
        state.withLock { $0.append(emissions, fact: fact, room: room, participants: participants) }
    }

    public func publish(_ entry: LogEntry) {
        publish(Subject.log(of: LogID(manifest.service, entry.log)), entry.json)
    }

    /// Writes an entry and publishes it.
    @discardableResult
    public func emit(
        _ emissions: [Emission], fact: Fact? = nil, room: String = "r", participants: [String] = ["ada", "bob"]
    ) -> EntryPosition {
        let entry = commit(emissions, fact: fact, room: room, participants: participants)
        publish(entry)
        return position(of: entry)
    }

    public func position(of entry: LogEntry) -> EntryPosition {
        EntryPosition(log: LogID(manifest.service, entry.log), seq: entry.seq)
    }

    /// Replaces its database, which has one log: a backup without the last entries, and perhaps with one
    /// written since.
    public func restore(forgetting count: Int, adding emissions: [Emission]? = nil) {
        state.withLock { state in
            state.entries[0]?.removeLast(count)
            state.databaseID = "second"
            if let emissions { _ = state.append(emissions, room: "r", participants: ["ada", "bob"]) }
        }
        announce()
    }

    private func answerEvents(_ request: BusRequest) {
        let data = request.data
        let since = data["since"]?.int ?? 0
        let rooms = data["roomIds"]?.array?.compactMap(\.string)
        let log = data["log"]?.int ?? 0
        let (head, entries, heads) = state.withLock { ($0.head(of: log), $0.entries[log] ?? [], $0.heads) }
        let end = min(data["through"]?.int ?? .max, head.seq)
        let known = entries.first { $0.seq == since }?.digest ?? (since == 0 ? 0 : -1)
        var page = LogPage(
            head: head, oldest: entries.first?.seq ?? head.seq + 1,
            isKnown: data["digest"]?.int.map { $0 == known } ?? true,
            entries: entries.filter { $0.seq > since && $0.seq <= end && rooms?.contains($0.roomID) ?? true },
            through: end)
        if heads.count > 1 || heads[0] == nil { page.heads = heads }
        request.reply(Reply(.ok, page.json).json)
    }

    private func publish(_ subject: String, _ data: JSONValue) {
        do {
            try bus.publish(subject, data)
        } catch {
            Issue.record("\(subject) was not published: \(error)")
        }
    }
}
