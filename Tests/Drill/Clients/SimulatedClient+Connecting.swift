import ParlorJSON
import ParlorReactor
import TestClients

extension SimulatedClient {
    private static let connectTimeout: Duration = .seconds(4)
    /// The longest wait for an answer; after it the client tries again with another socket.
    static let maxWait: Duration = .seconds(6)
    /// The longest wait that is no fault: `REQUEST_TIMEOUT`, and the time on the way.
    static let answerLimit: Duration = .milliseconds(5500)

    /// Connects again whenever the socket has ended.
    func stayConnected() async {
        while !isClosing {
            guard let address = await cluster.gatewayAddress else {
                await loop.pause(.milliseconds(20))
                continue
            }
            do throws(ClientError) {
                if cursor == nil { try await loadCursor(from: address) }
                try await connect(to: address)
            } catch {
                await loop.pause(.milliseconds(.random(in: 20...300)))
            }
        }
    }

    /// Loads the first cursor, which comes with the list of rooms.
    private func loadCursor(from address: ServerAddress) async throws(ClientError) {
        let answer = try await ask(HTTPCall("GET", "/api/sync", token: person.token), of: address)
        cursor = try answer.data()["cursor"]?.string
        receivedAtCursor = log.received
    }

    private func connect(to address: ServerAddress) async throws(ClientError) {
        // Events after the cursor are replayed.
        if receivedBefore == nil { receivedBefore = log.received }
        log.received = receivedAtCursor
        let client = try await SocketIOClient.connect(
            to: address, token: person.token, since: cursor, timeout: Self.connectTimeout, on: loop)
        if let failure = client.failure { throw failure }
        client.onEnd = { [weak self] _ in self?.assumeIsolated { $0.lost() } }
        self.client = client
        log.connects += 1
        client.onEvent = { [weak self] name, data in self?.assumeIsolated { $0.receive(name, data) } }
        await openRooms(on: client)
        if mustLoadGroups { loadGroups() }
        guard client.failure == nil else { return }
        hasOpenedRooms = true
        await withCheckedContinuation { ended = $0 }
        await loop.pause(.milliseconds(.random(in: 20...300)))
    }

    private func lost() {
        client = nil
        hasOpenedRooms = false
        ended?.resume()
        ended = nil
    }

    private func openRooms(on client: SocketIOClient) async {
        for roomID in rooms { await open(roomID, on: client) }
        for roomID in log.groups { await open(roomID, on: client) }
    }

    /// Joins a room. A group may have been left meanwhile: its `room:removed` follows.
    private func open(_ roomID: String, on client: SocketIOClient) async {
        let payload = JSONWriter.object {
            $0.member("roomId", roomID)
            $0.member("keepOthers", true)
        }
        while client.failure == nil {
            switch await answer(to: "room:join", payload, on: client) {
            case .success(let ack) where ack["success"]?.bool == true: return
            case .success(let ack) where isGone(roomID, ack): return
            case .success(let ack):
                if ack["error"]?["retryable"]?.bool != true { log.fault("room:join was answered with \(ack)") }
                await loop.pause(.milliseconds(.random(in: 100...300)))
            case .failure: return client.drop()
            }
        }
    }

    // MARK: Groups

    /// True if an answer says that the person is no longer in a group.
    func isGone(_ roomID: String, _ ack: JSONValue) -> Bool {
        !rooms.contains(roomID) && ack["error"]?["code"]?.string == "room_not_found"
    }

    /// Adds a group that the person has come to, and joins it. Events before that are not received.
    func enter(_ roomID: String) {
        log.groups.insert(roomID)
        changesOfGroups += 1
        reload(roomID)
        guard let client else { return }
        joins += 1
        Task {
            await open(roomID, on: client)
            joins -= 1
        }
    }

    func leave(_ roomID: String) {
        log.groups.remove(roomID)
        changesOfGroups += 1
        reload(roomID)
        unread[roomID] = nil
        ownMessages[roomID] = nil
        board[roomID] = nil
    }

    /// Notes that the client drops what it knows of a group. In a replay, that includes the group's events that have come
    /// before: each log is in order, but not one log with another.
    private func reload(_ roomID: String) {
        if receivedBefore != nil { log.received.restore(roomID, from: receivedAtCursor) }
        log.noteGap(in: roomID)
    }

    /// Loads the person's groups. Repeats it if an event changes them meanwhile.
    func loadGroups() {
        joins += 1
        Task {
            while client != nil {
                let changes = changesOfGroups
                if let address = await cluster.gatewayAddress,
                    let answer = try? await ask(
                        HTTPCall("GET", "/api/rooms/my-rooms", token: person.token), of: address),
                    let listed = try? answer.data().array, changes == changesOfGroups
                {
                    let now = Set(listed.filter { $0["kind"]?.string == "group" }.compactMap { $0["id"]?.string })
                    for roomID in log.groups.subtracting(now) { leave(roomID) }
                    for roomID in now { enter(roomID) }
                    mustLoadGroups = false
                    break
                }
                await loop.pause(.milliseconds(200))
            }
            joins -= 1
        }
    }

    /// Waits for an answer. Fails if the socket ends, or `maxWait` passes, before the answer.
    func answer(
        to event: String, _ payload: JSONValue, on client: SocketIOClient
    ) async -> Result<JSONValue, ClientError> {
        await withCheckedContinuation { continuation in
            var isDone = false
            let timer = loop.schedule(after: Self.maxWait) {
                guard !isDone else { return }
                isDone = true
                continuation.resume(returning: .failure(ClientError("no answer in time")))
            }
            client.emit(event, payload) { outcome in
                timer.cancel()
                guard !isDone else { return }
                isDone = true
                continuation.resume(returning: outcome)
            }
        }
    }

    func ask(_ call: HTTPCall, of address: ServerAddress) async throws(ClientError) -> HTTPAnswer {
        try await HTTPClient.ask(call, of: address, within: Self.maxWait, on: loop)
    }
}
