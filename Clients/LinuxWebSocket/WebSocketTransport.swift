import Foundation
import ParlorClient
import ParlorReactor
import ParlorSecurity
import ParlorWebSocket

/// Opens WebSockets on Linux, where the client library has none, on a thread of its own.
///
/// It supports `ws://` only, without TLS. A `wss://` address is refused with
/// `ClientFailure.refused` (`unsupported_scheme`); put a TLS proxy in between.
package struct WebSocketTransport: SocketTransport {
    private let owner = LoopOwner()

    package init() {}

    package func connect(to url: URL) async throws -> any SocketConnection {
        guard url.scheme == "ws", let host = url.host(percentEncoded: false) else {
            throw ClientFailure.refused(
                Refusal(code: "unsupported_scheme", message: "On Linux only ws:// addresses work: \(url)"))
        }
        let port = url.port.flatMap { UInt16(exactly: $0) } ?? 80
        let path = url.path(percentEncoded: true)
        let target = (path.isEmpty ? "/" : path) + (url.query(percentEncoded: true).map { "?" + $0 } ?? "")
        // RFC 3986 puts an IPv6 address in brackets.
        let name = host.contains(":") ? "[\(host)]" : host
        let loop = try await owner.loop()
        let channel: Channel
        do {
            // The handler writes its handshake as soon as the connection is there.
            channel = try await loop.connect(host: host, port: port) {
                WebSocketChannel($0, host: port == 80 ? name : "\(name):\(port)", target: target)
            }
        } catch {
            try Task.checkCancellation()
            throw ClientFailure.offline("\(error)")
        }
        let handler = await withCheckedContinuation { continuation in
            loop.execute {
                let handler = channel.handler as? WebSocketChannel
                continuation.resume(returning: handler.map { LoopBound($0, to: loop) })
            }
        }
        guard let handler else { throw ClientFailure.offline("the server closed the connection") }
        let connection = LoopConnection(channel: channel, handler: handler, owner: owner)
        try await connection.isOpened()
        return connection
    }
}

/// Starts the loop on first use, and ends it with the transport and its last connection.
private actor LoopOwner {
    private var group: EventLoopGroup?

    func loop() throws(ClientFailure) -> EventLoop {
        if let group { return group.next() }
        // The thread may still be ending while the process exits.
        Libcrypto.outlivesExit()
        do throws(SystemError) {
            let group = try EventLoopGroup(loopCount: 1)
            self.group = group
            return group.next()
        } catch {
            throw .offline("no event loop: \(error)")
        }
    }

    // Nothing on the loop retains the owner, so this never runs on the thread that it ends.
    deinit { group?.shutdown() }
}

private struct LoopConnection: SocketConnection {
    let channel: Channel
    /// The handler. It is kept here because the channel releases it when it closes, and messages that arrived
    /// before can still be received.
    let handler: LoopBound<WebSocketChannel>
    /// Keeps the loop running.
    let owner: LoopOwner

    func isOpened() async throws {
        _ = try await abortingWhenCancelled { await ask { $0.whenOpened($1) } }
    }

    /// Sends without waiting, so there is nothing to cancel.
    func send(_ text: String) async throws { _ = try await ask { $0.send(text, $1) }.get() }

    func receive() async throws -> String {
        try await abortingWhenCancelled { await ask { $0.receive($1) } }
    }

    func close() {
        channel.loop.execute { [channel] in channel.close() }
    }

    /// Runs a request on the loop.
    private func ask(
        _ work: @escaping @Sendable (WebSocketChannel, @escaping WebSocketChannel.Completion) -> Void
    ) async -> Result<String, ClientFailure> {
        await withCheckedContinuation { continuation in
            channel.loop.execute { [handler] in
                work(handler.object) { continuation.resume(returning: $0) }
            }
        }
    }

    /// Runs a body. If the task is cancelled, the connection is aborted, which ends the body's wait.
    private func abortingWhenCancelled(
        _ body: () async -> Result<String, ClientFailure>
    ) async throws -> String {
        let outcome = await withTaskCancellationHandler {
            await body()
        } onCancel: {
            channel.loop.execute { [channel] in channel.abort() }
        }
        if case .failure = outcome { try Task.checkCancellation() }
        return try outcome.get()
    }
}
