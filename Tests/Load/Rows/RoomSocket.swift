import ParlorJSON
import ParlorReactor
import TestClients

/// A socket in one room, which sends there and keeps the ledger of its events.
final class RoomSocket {
    private(set) var ledger = DeliveryLedger()
    private(set) var acknowledged = 0
    private(set) var latencies = Latencies()
    /// The number of `message:new:global` events, of all rooms.
    private(set) var globals = 0
    /// Called after each ack and each event.
    var onProgress: (() -> Void)?

    let room: String
    private let client: SocketIOClient

    private static let messageNew = Array("message:new".utf8)
    private static let messageNewGlobal = Array("message:new:global".utf8)

    private init(_ client: SocketIOClient, room: String) {
        self.client = client
        self.room = room
        client.onEvent = { [unowned self] name, argument in receive(name, argument) }
    }

    /// Connects and joins the room, which has to be new.
    static func join(_ room: String, as person: Person, in fixture: Fixture) async throws(ClientError) -> RoomSocket {
        let client = try await fixture.connect(as: person)
        let socket = RoomSocket(client, room: room)
        try await client.call("room:join", JSONWriter.object { $0.member("roomId", room) })
        return socket
    }

    func leave() async throws(ClientError) {
        try await client.call("room:leave", JSONWriter.object { $0.member("roomId", room) })
    }

    func close() { client.close() }

    /// Sends one message. A refusal is a failure, as the server has no rate limits.
    func send(completion: @escaping (Result<Void, ClientError>) -> Void) {
        let start = LoopInstant.now()
        client.emit("message:send", .newMessage(in: room)) { [self] outcome in
            let time = Latencies.time(since: start)
            completion(outcome.flatMap { take($0, after: time) })
        }
    }

    func send() async throws(ClientError) {
        let outcome: Result<Void, ClientError> = await withCheckedContinuation { continuation in
            send { continuation.resume(returning: $0) }
        }
        try outcome.get()
    }

    private func take(_ ack: JSONValue, after time: UInt64) -> Result<Void, ClientError> {
        let members = ack.object
        guard members?["success"]?.bool == true, let seq = members?["seq"]?.int, seq > 0 else {
            return .failure(ClientError("message:send was answered with \(ack)"))
        }
        latencies.record(time)
        acknowledged += 1
        ledger.acknowledge(seq)
        onProgress?()
        return .success(())
    }

    private func receive(_ name: ArraySlice<UInt8>, _ argument: JSONValue) {
        if name.elementsEqual(Self.messageNew) {
            // A number above what a room can hold is invalid and not counted. The message then
            // counts as lost.
            guard let seq = argument["message"]?["seq"]?.int, (1..<100_000_000).contains(seq) else { return }
            ledger.receive(seq)
        } else if name.elementsEqual(Self.messageNewGlobal) {
            globals += 1
        }
        onProgress?()
    }
}
