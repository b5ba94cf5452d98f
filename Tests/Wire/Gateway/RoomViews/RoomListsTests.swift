import GatewayTesting
import ParlorContracts
import ParlorEventLog
import ParlorGatewayCatalog
import ParlorGatewayLimits
import ParlorGatewayPresence
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorServiceClient
import ParlorServiceKit
import ParlorTestSupport
import Synchronization
import Testing

@testable import ParlorRoomViews

/// `RoomLists` on a loop with two services and without a socket.
@Suite("Serving lists of rooms", .timeLimit(.minutes(1)))
struct RoomListsTests {
    /// Marks log entries in the cache, as the pipeline does.
    private struct Marker: LogReceiver {
        let cache: RoomListCache

        func start(_ logID: LogID, after position: LogPosition) { cache.start(logID, after: position) }
        func receive(_ entries: [LogEntry], of logID: LogID) { cache.note(entries, of: logID) }
        func end(_ logID: LogID) {}
    }

    private actor House {
        nonisolated let loop: EventLoop
        nonisolated let rooms: FakeService
        nonisolated let chat: FakeService
        nonisolated let presence: Presence
        nonisolated let composer: RoomComposer
        nonisolated let cache = RoomListCache()
        private nonisolated let directory: Directory
        private let lists: RoomLists
        nonisolated let asked = Mutex(0)
        nonisolated let badge = Mutex(0)
        nonisolated let contributed = Mutex(0)

        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

        init(_ loop: EventLoop, _ bus: any MessageBus) throws {
            self.loop = loop
            rooms = try FakeService.start(
                Manifest(
                    service: "rooms", routes: [Route("GET", "/api/rooms/my-rooms", Subject.rooms, answer: .rooms)],
                    hasEventLog: true, logsWhatRoomsShow: true), on: bus)
            chat = try FakeService.start(
                Manifest(
                    service: "chat",
                    contribution: Contribution(
                        subject: "chat.contribute",
                        fields: [
                            .badge("lines"),
                            .init("saidAt", .time, role: .activity(type: "line", sort: "lines"), zero: .null),
                        ]),
                    hasEventLog: true, logsWhatRoomsShow: true), on: bus)
            presence = Presence(gatewayID: "g", bus: bus, on: loop, log: .silent) { _ in }
            let faults = ReplyFaults(log: .silent)
            directory = Directory(
                catalog: Catalog(required: ["rooms", "chat"]), bus: bus, on: loop, file: nil, log: .silent,
                faults: faults, logs: Marker(cache: cache), onAnnouncement: { _ in })
            let services = RequestForwarder(
                bus: bus, directory: directory, requestTimeout: .seconds(60), faults: faults)
            let longWork = LongWork()
            composer = RoomComposer(
                bus: bus, faults: faults, directory: directory, presence: presence, cache: cache,
                longWork: longWork)
            let readIndex = ReadIndex(EntryFetcher(bus: bus).client, on: loop)
            let fields = ContributedFields(
                bus: bus, faults: faults, directory: directory, cache: FieldCache(), rooms: cache, readIndex: readIndex,
                longWork: longWork)
            lists = RoomLists(
                cache: cache, readIndex: readIndex, composer: composer, fields: fields, directory: directory,
                services: services, presence: presence,
                limits: Limits(
                    RateLimiter(
                        isOn: true,
                        overrides: ["lists": Rate(perPerson: 4, perAddress: 1000, window: .seconds(3600))]),
                    RequestSlots(isOn: true, maxPerPerson: 8, maxHeavyPerPerson: 1), metrics: Metrics()),
                longWork: longWork)
        }

        func start() async throws {
            rooms.on(Subject.rooms) { [self] request in
                asked.withLock { $0 += 1 }
                let list = JSONWriter.value { json in
                    json.array(of: ["a", "b"]) { $0.value(GatewayHarness.base($1)) }
                }
                request.reply(Reply(.ok, list).json)
            }
            rooms.on(Subject.room) { request in
                request.reply(Reply(.ok, GatewayHarness.base(request.data["roomId"]?.string ?? "")).json)
            }
            chat.on("chat.contribute") { [self] request in
                contributed.withLock { $0 += 1 }
                let badge = badge.withLock { $0 }
                let ids = request.data["roomIds"]?.array ?? []
                let data = JSONWriter.object {
                    $0.member(
                        "rooms",
                        array: { json in
                            for id in ids {
                                json.array { json in
                                    json.number(badge)
                                    if id.string == "b" { json.number(9000) } else { json.null() }
                                }
                            }
                        })
                }
                request.reply(Reply(.ok, data).json)
            }
            try directory.start()
            _ = await directory.settle(with: ["rooms", "chat"], within: .seconds(60))
        }

        func stop() async {
            await directory.stop()
            await presence.stop()
            for service in [rooms, chat] { service.stop() }
        }

        /// Returns the rooms' ids.
        func list(_ sort: RoomSort = .activity) async throws -> (list: RoomList, ids: [String]) {
            let address = try #require(IPAddress("10.0.0.1"))
            let origin = RequestOrigin(id: "test", deadline: .now() + .seconds(60))
            let list = try await lists.list(
                Subject.rooms, .emptyObject, by: sort, for: Viewer(GatewayHarness.ada, at: address, origin, on: loop))
            return (list, list.roomIDs)
        }

        func badges(_ data: String, room: String = "a") async throws -> JSONValue {
            let badges = RoomBadges(composer: composer, cache: cache, directory: directory)
            return await badges.data(try JSONValue(parsing: data), roomID: room, for: "ada")
        }

        nonisolated var count: Int { asked.withLock { $0 } }
    }

    private func run(_ test: (House) async throws -> Void) async throws {
        try await TestLoop.run { loop in
            let house = try House(loop.loop, InProcessBus())
            try await house.start()
            try await withCleanup {
                try await test(house)
            } _: {
                await house.stop()
            }
        }
    }

    @Test("a list can be sorted by the orders that a service's manifest declares")
    func sorts() async throws {
        try await run { house in
            let lines = try await house.list(.of("lines")).ids
            let content = try await house.list(.content).ids
            #expect(lines == ["b", "a"] && content == ["b", "a"])
        }
    }

    @Test("the list is served from the cache, patched after an entry, and only full composition is limited")
    func entryPoint() async throws {
        try await run { house in
            let first = try await house.list().list
            // Two rooms each time, and four may be in lists: later ones are answered because they are not composed whole.
            for badge in 1...5 {
                #expect(try await house.list().list.tag == house.list().list.tag)
                house.badge.withLock { $0 = badge }
                house.chat.emit([], room: "a")
                let list = try await house.list().list
                #expect(list.room("a")?["badges"]?["lines"]?.int == badge)
                #expect(list.tag != first.tag)
            }
            #expect(house.count == 1)
            // A change of more than a room: all are asked for, once more than may be.
            house.chat.emit([], room: "")
            _ = try await house.list()
            house.chat.emit([], room: "")
            await #expect(throws: ServiceError.self) { try await house.list() }
            #expect(house.count == 2)
        }
    }

    @Test("a room whose participants changed is recomposed, even without a log entry")
    func presence() async throws {
        try await run { house in
            let list = try await house.list().list
            #expect(list.room("a")?["isActive"]?.bool == false)
            await house.presence.join(.init(roomID: "a", userID: "bob"), socketID: "1")
            #expect(try await house.list().list.room("a")?["isActive"]?.bool == true)
            #expect(house.count == 1)
        }
    }

    @Test("badges that a cached list shows as they are now are not requested")
    func knownBadges() async throws {
        try await run { house in
            house.badge.withLock { $0 = 3 }
            let asked = { house.contributed.withLock { $0 } }
            #expect(try await house.badges("{}")["badges"]?["lines"]?.int == 3)
            #expect(asked() == 1, "there is no list yet")
            _ = try await house.list()
            let before = asked()
            let known = try await house.badges(#"{"badges":{"stars":1}}"#)
            #expect(known.text == #"{"roomId":"a","badges":{"lines":3},"hasUnread":true}"#)
            // Another service's entry does not affect this badge.
            house.rooms.emit([], room: "a")
            while house.cache.positions["rooms"]?.seq != 1 { await Task.yield() }
            _ = try await house.badges("{}")
            #expect(asked() == before)
            house.badge.withLock { $0 = 4 }
            house.chat.emit([], room: "a")
            while house.cache.positions["chat"]?.seq != 1 { await Task.yield() }
            #expect(try await house.badges("{}")["badges"]?["lines"]?.int == 4)
            #expect(try await house.badges(#"{"badges":{"lines":0}}"#)["hasUnread"]?.bool == false)
            #expect(asked() == before + 1, "the badge that is given is not asked for")
            _ = try await house.list()
            let listed = asked()
            house.badge.withLock { $0 = 0 }
            house.cache.noteVisit(to: "a", by: "ada")
            #expect(try await house.badges("{}")["badges"]?["lines"]?.int == 0, "the visit's entry may still come")
            #expect(asked() == listed + 1)
        }
    }
}
