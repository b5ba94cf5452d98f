import ParlorJSON
import ParlorReactor
import TestClients

extension SimulatedClient {
    private static let connectTimeout: Duration = .seconds(4)
    /// The longest wait for an answer; after it the client tries again with another socket.
    static let maxWait: Duration = .seconds(6)

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
        guard client.failure == nil else { return }
        isSettled = true
        await withCheckedContinuation { ended = $0 }
        await loop.pause(.milliseconds(.random(in: 20...300)))
    }

    private func lost() {
        client = nil
        isSettled = false
        ended?.resume()
        ended = nil
    }

    private func openRooms(on client: SocketIOClient) async {
        for roomID in rooms {
            while client.failure == nil {
                let payload = JSONWriter.object {
                    $0.member("roomId", roomID)
                    $0.member("keepOthers", true)
                }
                switch await answer(to: "room:join", payload, on: client) {
                case .success(let ack) where ack["success"]?.bool == true: break
                case .success(let ack):
                    if ack["error"]?["retryable"]?.bool != true { log.fault("room:join was answered with \(ack)") }
                    await loop.pause(.milliseconds(.random(in: 100...300)))
                    continue
                case .failure: return client.drop()
                }
                break
            }
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

    /// Makes one call over a connection of its own.
    func ask(_ call: HTTPCall, of address: ServerAddress) async throws(ClientError) -> HTTPAnswer {
        let client = try await HTTPClient.connect(to: address, on: loop)
        defer { client.close() }
        let timer = loop.schedule(after: Self.maxWait) { client.close() }
        defer { timer.cancel() }
        let outcome: HTTPClient.Outcome = await withCheckedContinuation { continuation in
            client.send(call) { continuation.resume(returning: $0) }
        }
        return try outcome.get()
    }
}
