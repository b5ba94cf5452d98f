import ParlorJSON
import ParlorReactor
import TestClients

/// A client that was offline, with a cursor and the messages sent since then. One without a cursor is
/// new.
final class ReturningClient {
    private let person: Person
    private let cursor: String?
    private let rooms: [String]
    private let room: String
    private let missed: Set<String>
    private var socket: SocketIOClient?
    /// The number of times that each message arrived.
    private var received: [String: Int] = [:]
    /// Called with whether the replay was complete, or with the failure.
    private var synchronised: ((Result<Bool, ClientError>) -> Void)?

    private static let messageNew = Array("message:new".utf8)
    private static let syncDone = Array("sync:done".utf8)

    /// - Parameters:
    ///   - rooms: all of the person's rooms.
    ///   - room: the room that it joins.
    ///   - missed: the ids of all messages in the person's rooms since the cursor.
    init(_ person: Person, since cursor: String?, rooms: [String], room: String, missed: Set<String>) {
        self.person = person
        self.cursor = cursor
        self.rooms = rooms
        self.room = room
        self.missed = missed
    }

    var replayed: Int { received.count }
    var lost: Int { missed.count { received[$0] == nil } }
    var doubled: Int { received.values.reduce(0) { $0 + $1 - 1 } }

    /// Connects with its cursor, gets the replay, joins its room, and lists all rooms.
    ///
    /// - Throws: also if the server cannot replay, or the list has other rooms.
    func comeBack(to fixture: Fixture, within maxWait: Duration, using lists: HTTPPool) async throws(ClientError) {
        let socket = try await SocketIOClient.connect(
            to: fixture.server, token: person.token, since: cursor, timeout: maxWait, on: fixture.loop)
        self.socket = socket
        if cursor == nil {
            socket.onEvent = { _, _ in }
        } else if try await !isCaughtUp(socket) {
            throw ClientError("it was not caught up")
        }
        try await socket.call("room:join", JSONWriter.object { $0.member("roomId", room) })
        let answer = try await lists.answer(to: HTTPCall("GET", "/api/rooms/my-rooms", token: person.token))
        let listed = try answer.data().array?.compactMap { $0["id"]?.string }
        guard listed?.sorted() == rooms.sorted() else { throw ClientError("the list is not of its rooms") }
    }

    func close() { socket?.close() }

    private func isCaughtUp(_ socket: SocketIOClient) async throws(ClientError) -> Bool {
        let outcome: Result<Bool, ClientError> = await withCheckedContinuation { continuation in
            synchronised = { continuation.resume(returning: $0) }
            // Weakly, as a socket that is being closed outlives its client.
            socket.onEnd = { [weak self] in self?.finish(.failure($0)) }
            socket.onEvent = { [weak self] name, argument in self?.receive(name, argument) }
            if let failure = socket.failure { finish(.failure(failure)) }
        }
        return try outcome.get()
    }

    private func receive(_ name: ArraySlice<UInt8>, _ argument: JSONValue) {
        if name.elementsEqual(Self.messageNew) {
            if let id = argument["message"]?["id"]?.string { received[id, default: 0] += 1 }
        } else if name.elementsEqual(Self.syncDone) {
            finish(.success(argument["recovered"]?.bool == true))
        }
    }

    /// Ends the wait for the replay; only the first outcome counts.
    private func finish(_ outcome: Result<Bool, ClientError>) {
        let synchronised = synchronised
        self.synchronised = nil
        synchronised?(outcome)
    }
}
