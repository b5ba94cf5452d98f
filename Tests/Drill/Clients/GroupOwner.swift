import ParlorJSON
import ParlorReactor
import ParlorTestSupport
import TestClients

/// The owner of a group: adds and removes guests, and asks as each of them what the group's services answer.
///
/// Nobody else changes the people of this group. So its record is right, and so is what it notes in `removals`.
actor GroupOwner {
    private let person: Person
    let roomID: String
    /// The people who stay: the owner and the residents. They never connect.
    let staying: Set<String>
    private let clients: [Person]
    private let removals: Removals
    private let cluster: Cluster
    private nonisolated let loop: EventLoop
    private var guests: Set<String> = []
    private var isOver = false
    private(set) var isBusy = false
    private(set) var log = Log()

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    struct Log: Sendable {
        var additions = 0
        var removals = 0
        var deletedRooms: [String] = []
        var longestChange: Duration = .zero
        var faults: [String] = []
    }

    /// The time that events may take from a gateway to the client.
    private static let onTheWay: Duration = .milliseconds(100)
    /// The routes of a room, one for each service.
    private static let probes = ["", "/messages", "/elements"]

    /// - Parameter clients: whose clients come and go.
    init(
        _ person: Person, roomID: String, residents: [String], clients: [Person], removals: Removals, cluster: Cluster,
        on loop: EventLoop
    ) {
        self.person = person
        self.roomID = roomID
        staying = Set(residents + [person.id])
        self.clients = clients
        self.removals = removals
        self.cluster = cluster
        self.loop = loop
    }

    /// Everybody who is in the group.
    var people: Set<String> { guests.union(staying) }

    /// - Parameter pause: the longest pause between two changes.
    func work(pause: Duration, seed: UInt64) {
        isBusy = true
        Task {
            var random = SeededGenerator(seed: seed)
            var number = 0
            while !isOver {
                number += 1
                await change(number, using: &random)
                await loop.pause(.milliseconds(Int.random(in: 0...pause.milliseconds, using: &random)))
            }
            isBusy = false
        }
    }

    /// Finishes the change in progress, and begins no new one.
    func finish() { isOver = true }

    private func change(_ number: Int, using random: inout SeededGenerator) async {
        let outside = clients.filter { !guests.contains($0.id) }
        let inside = clients.filter { guests.contains($0.id) }
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<5: await makeAndDelete("brief-\(number)", with: clients.randomElement(using: &random)!)
        case 5..<15:
            guard let guest = inside.randomElement(using: &random) else { return }
            await setRole(Bool.random(using: &random) ? "owner" : "member", of: guest)
        case 15..<55:
            guard let guest = inside.randomElement(using: &random) else { return }
            await remove(guest, from: roomID, as: Bool.random(using: &random) ? person : guest)
            guests.remove(guest.id)
        default:
            let added = outside.shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random))
            if !added.isEmpty { await add(Array(added)) }
        }
    }

    // MARK: Changes

    private func add(_ added: [Person]) async {
        for guest in added { removals.end(guest.id, from: roomID) }
        let answer = await insist("POST", "/api/rooms/\(roomID)/participants", as: person) {
            $0.member("userIds", array: { for guest in added { $0.string(guest.id) } })
        }
        guard answer == 200 else { return fault("adding was answered \(answer)") }
        log.additions += added.count
        for guest in added {
            guests.insert(guest.id)
            await probe(roomID, as: guest, expecting: 200)
        }
    }

    /// - Parameter remover: the owner, or the guest, who leaves.
    private func remove(_ guest: Person, from roomID: String, as remover: Person) async {
        let answer = await insist("DELETE", "/api/rooms/\(roomID)/participants/\(guest.id)", as: remover)
        // A repeated call finds that the person is not there.
        guard answer == 204 || answer == 404 else { return fault("removing was answered \(answer)") }
        log.removals += 1
        await loop.pause(Self.onTheWay)
        // What has arrived is read first, also if this process was late.
        await loop.pause(.milliseconds(1))
        removals.note(guest.id, from: roomID)
        await probe(roomID, as: guest, expecting: 404)
    }

    private func setRole(_ role: String, of guest: Person) async {
        let answer = await insist("PUT", "/api/rooms/\(roomID)/participants/\(guest.id)/role", as: person) {
            $0.member("role", role)
        }
        if answer != 200 { fault("a role was answered \(answer)") }
    }

    /// Makes a group of two, lets it live for a moment, and has both leave.
    private func makeAndDelete(_ name: String, with guest: Person) async {
        var made: String?
        let answer = await insist("POST", "/api/rooms", as: person) {
            $0.member("participantIds", array: { $0.string(guest.id) })
            $0.member("clientRequestId", "\(self.roomID)-\(name)")
        } onData: {
            made = $0["id"]?.string
        }
        guard let made else { return fault("a new group was answered \(answer)") }
        await loop.pause(.milliseconds(500))
        await remove(guest, from: made, as: person)
        await remove(person, from: made, as: person)
        log.deletedRooms.append(made)
    }

    // MARK: Asking

    /// Asks each service for the room.
    private func probe(_ roomID: String, as guest: Person, expecting expected: Int) async {
        for path in Self.probes {
            let answer = await insist("GET", "/api/rooms/\(roomID)\(path)", as: guest)
            if answer != expected {
                fault("\(guest.id) asked \(roomID)\(path), and was answered \(answer), not \(expected)")
            }
        }
    }

    /// Repeats a call until it is answered with something other than 503.
    private func insist(
        _ method: String, _ path: String, as caller: Person, _ body: ((inout JSONWriter) -> Void)? = nil,
        onData: (JSONValue) -> Void = { _ in }
    ) async -> Int {
        let call = HTTPCall(method, path, token: caller.token, body: body.map { JSONWriter.object($0) })
        let began = LoopInstant.now()
        defer { if method != "GET" { log.longestChange = max(log.longestChange, .now() - began) } }
        while true {
            if let address = await cluster.gatewayAddress,
                let answer = try? await HTTPClient.ask(call, of: address, within: SimulatedClient.maxWait, on: loop),
                answer.status != 503
            {
                if let data = try? answer.data() { onData(data) }
                return answer.status
            }
            await loop.pause(.milliseconds(.random(in: 50...200)))
        }
    }

    private func fault(_ text: String) { if log.faults.count < 20 { log.faults.append("\(text), in group \(roomID)") } }
}
