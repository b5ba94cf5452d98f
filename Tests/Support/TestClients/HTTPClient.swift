import ParlorReactor

/// One keep-alive connection with one request at a time. Use it on its loop only.
package final class HTTPClient: ChannelHandler {
    package typealias Outcome = Result<HTTPAnswer, ClientError>

    private let channel: Channel
    private let server: ServerAddress
    private var reader = HTTPAnswerReader()
    private var waiting: ((Outcome) -> Void)?

    private init(_ channel: Channel, to server: ServerAddress) {
        self.channel = channel
        self.server = server
    }

    /// Connects. Call it on `loop`.
    package static func connect(to server: ServerAddress, on loop: EventLoop) async throws(ClientError) -> HTTPClient {
        do {
            let channel = try await loop.connect(host: server.host, port: server.port) {
                HTTPClient($0, to: server)
            }
            guard let client = channel.handler as? HTTPClient else { throw ConnectError.cancelled }
            return client
        } catch {
            throw ClientError("no connection to \(server.name): \(error)")
        }
    }

    /// - Parameter completion: called once, with an answer of any status, or with the failure.
    package func send(_ call: HTTPCall, completion: @escaping (Outcome) -> Void) {
        precondition(waiting == nil, "a request at a time")
        guard channel.isOpen else { return completion(.failure(ClientError("the server closed the connection"))) }
        waiting = completion
        channel.write(call.bytes(for: server))
    }

    /// Sends one call over a connection of its own. Fails if there is no answer within `limit`. Call it on `loop`.
    package static func ask(
        _ call: HTTPCall, of server: ServerAddress, within limit: Duration, on loop: EventLoop
    ) async throws(ClientError) -> HTTPAnswer {
        let client = try await connect(to: server, on: loop)
        defer { client.close() }
        let timer = loop.schedule(after: limit) { client.close() }
        defer { timer.cancel() }
        let outcome: Outcome = await withCheckedContinuation { continuation in
            client.send(call) { continuation.resume(returning: $0) }
        }
        return try outcome.get()
    }

    package func close() { channel.close() }

    private func finish(_ outcome: Outcome) {
        guard let completion = waiting else { return }
        waiting = nil
        completion(outcome)
    }

    package func channel(_ channel: Channel, received bytes: sending UnsafeRawBufferPointer) {
        reader.append(bytes)
        do throws(ClientError) {
            if let answer = try reader.next() { finish(.success(answer)) }
        } catch {
            finish(.failure(error))
            channel.abort()
        }
    }

    package func channelDidClose(_ channel: Channel, reason: CloseReason) {
        finish(.failure(ClientError("the connection ended: \(reason)")))
    }
}
