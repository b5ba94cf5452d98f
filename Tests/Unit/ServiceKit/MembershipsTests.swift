import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorServiceKit
import ParlorTestSupport
import Testing

@Suite("Memberships of rooms", .timeLimit(.minutes(1)))
struct MembershipsTests {
    /// The rooms service: it answers at once, or holds requests until the test answers.
    private struct Rooms {
        let bus = InProcessBus()
        let asked = Collector<BusRequest>()

        init(answersAtOnce: Bool = false) throws {
            try bus.respond(to: "rooms.membership", queue: "rooms") { [asked] request in
                asked.add(request)
                if answersAtOnce { request.reply(Reply(.ok, membership(request.roomID).json).json) }
            }
        }

        var askedRooms: [String] { asked.items.map(\.roomID) }
    }

    private static let context = BusContext(requestID: "test")

    private static func membership(_ roomID: String) -> Membership {
        Membership(
            roomID: roomID,
            participants: [
                Participant(
                    userID: "u", username: "ada", firstName: nil, joinedAt: Timestamp(milliseconds: 1_700_000_000_000))
            ])
    }

    @Test("concurrent callers for one room make one request")
    func askedOnce() async throws {
        let rooms = try Rooms()
        let memberships = Memberships(rooms.bus)
        let found = Collector<Result<Membership, ServiceError>>()
        for _ in 0..<100 { memberships.find("r", Self.context) { found.add($0) } }
        #expect(found.items.isEmpty)
        try #require(rooms.asked.items.count == 1)
        rooms.asked.items[0].reply(Reply(.ok, Self.membership("r").json).json)
        #expect(found.items == Array(repeating: .success(Self.membership("r")), count: 100))
        #expect(try await memberships.find("r", Self.context) == Self.membership("r"))
        #expect(rooms.asked.items.count == 1)
    }

    @Test("completions run in the order of the calls, also of those made while a reply is delivered")
    func order() throws {
        let rooms = try Rooms()
        let memberships = Memberships(rooms.bus)
        let called = Collector<Int>()
        memberships.find("r", Self.context) { _ in
            called.add(0)
            // What is known now must not overtake those who wait.
            memberships.find("r", Self.context) { _ in
                called.add(10)
                memberships.find("r", Self.context) { _ in called.add(20) }
            }
        }
        for number in 1..<10 {
            memberships.find("r", Self.context) { _ in
                called.add(number)
                memberships.find("r", Self.context) { _ in called.add(number + 10) }
            }
        }
        rooms.asked.items[0].reply(Reply(.ok, Self.membership("r").json).json)
        #expect(called.items == Array(0...20))
    }

    @Test("calls of one thread are answered in order while another thread delivers the reply")
    func orderAcrossThreads() async throws {
        for _ in 0..<50 {
            let rooms = try Rooms()
            let memberships = Memberships(rooms.bus)
            let called = Collector<Int>()
            let first = Gate()
            async let answering: Void = {
                await first.passed()
                rooms.asked.items[0].reply(Reply(.ok, Self.membership("r").json).json)
            }()
            for number in 0..<500 {
                memberships.find("r", Self.context) { _ in called.add(number) }
                if number == 100 { first.open() }
            }
            await answering
            #expect(await called.first(500) == Array(0..<500))
        }
    }

    @Test("a failure reaches all waiting callers, and is not cached")
    func failure() async throws {
        let rooms = try Rooms()
        let memberships = Memberships(rooms.bus)
        let found = Collector<Result<Membership, ServiceError>>()
        for _ in 0..<2 { memberships.find("r", Self.context) { found.add($0) } }
        rooms.asked.items[0].reply(ServiceError.roomNotFound.json)
        #expect(found.items == [.failure(.roomNotFound), .failure(.roomNotFound)])
        memberships.find("r", Self.context) { found.add($0) }
        try #require(rooms.asked.items.count == 2)
        rooms.asked.items[1].reply(Reply(.ok, Self.membership("r").json).json)
        #expect(found.items.last == .success(Self.membership("r")))
    }

    @Test("without the rooms service the caller is asked to retry in a moment")
    func away() async {
        let error = await #expect(throws: ServiceError.self) {
            try await Memberships(InProcessBus()).find("r", Self.context)
        }
        #expect(error?.code == .serviceUnavailable)
    }

    @Test(
        "a reply that is not a membership is an internal error", arguments: ["{}", #"{"status":200,"data":{}}"#, "7"])
    func nonsense(json: String) async throws {
        let rooms = try Rooms()
        let memberships = Memberships(rooms.bus)
        let found = Collector<Result<Membership, ServiceError>>()
        memberships.find("r", Self.context) { found.add($0) }
        rooms.asked.items[0].reply(try JSONValue(parsing: json))
        #expect(throws: ServiceError(.internal, "A service gave no valid reply.")) { try found.items[0].get() }
    }

    @Test("the request has no caller, its own deadline and the room as the key")
    func ownTime() throws {
        let rooms = try Rooms()
        let late = BusContext(
            requestID: "late", caller: JSONValue("somebody"), timeout: .zero, key: "other", trace: "t")
        Memberships(rooms.bus).find("r", late) { _ in }
        let context = try #require(rooms.asked.items.first).context
        #expect(context.timeout > .zero && context.timeout < BusContext.defaultTimeout)
        #expect(context.requestID == "late")
        #expect(context.trace == "t")
        #expect(context.key == "r")
        #expect(context.caller == nil)
    }

    @Test("rooms that are used stay cached; those unused for two generations are requested again")
    func generations() async throws {
        let rooms = try Rooms(answersAtOnce: true)
        let memberships = Memberships(rooms.bus, maxBytes: 2 * 360)
        func use(_ roomIDs: String...) async throws {
            for roomID in roomIDs { #expect(try await memberships.find(roomID, Self.context).roomID == roomID) }
        }
        try await use("a", "b", "c", "a", "d", "a", "e", "a")
        #expect(rooms.askedRooms == ["a", "b", "c", "d", "e"], "a was used all the time")
        try await use("b")
        #expect(rooms.askedRooms.last == "b", "b was not")
    }
}

extension BusRequest {
    fileprivate var roomID: String { data["roomId"]?.string ?? "" }
}
