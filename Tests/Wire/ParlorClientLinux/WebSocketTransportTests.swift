import Foundation
import ParlorLinuxWebSocket
import ParlorReactor
import ParlorWebSocket
import Testing

@testable import ParlorClient

/// A server that answers the handshake, sends its greeting, and then echoes text.
private final class EchoServer: ChannelHandler {
    private let greeting: [UInt8]
    private var head: [UInt8]? = []
    private var parser = WebSocketParser(role: .server)

    init(greeting: [UInt8]) { self.greeting = greeting }

    func channel(_ channel: Channel, received bytes: sending UnsafeRawBufferPointer) {
        do {
            if var text = head {
                text.append(contentsOf: bytes)
                head = text
                guard text.suffix(4) == Array("\r\n\r\n".utf8)[...] else { return }
                head = nil
                let fields = String(decoding: text, as: UTF8.self).split(separator: "\r\n").dropFirst()
                let answer = try WebSocketHandshake.accept(method: "GET") { name in
                    fields.filter { $0.lowercased().hasPrefix(name.lowercased() + ": ") }.map {
                        String($0.dropFirst(name.count + 2))
                    }
                }
                // The greeting comes in one piece with the head, which is allowed for frames.
                channel.write(answer + greeting)
            } else {
                parser.append(bytes)
                while let event = try parser.next() {
                    switch event {
                    case .text(let text) where text == Array("close".utf8):
                        channel.write(WebSocketFrame.encode(.text, Array("last".utf8)) + WebSocketFrame.close(1001))
                        channel.close()
                    case .text(let text): channel.write(WebSocketFrame.encode(.text, text))
                    default: break
                    }
                }
            }
        } catch {
            Issue.record(error)
            channel.abort()
        }
    }

    func channelDidClose(_ channel: Channel, reason: CloseReason) {}
}

/// A server without WebSockets.
private final class PlainServer: ChannelHandler {
    func channel(_ channel: Channel, received bytes: sending UnsafeRawBufferPointer) {
        channel.write(Array("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".utf8))
    }

    func channelDidClose(_ channel: Channel, reason: CloseReason) {}
}

@Suite("WebSocketTransport on Linux", .timeLimit(.minutes(1)))
struct WebSocketTransportTests {
    private let group: EventLoopGroup
    init() throws { group = try EventLoopGroup(loopCount: 1) }

    private func withServer(
        _ makeHandler: @autoclosure @escaping @Sendable () -> any ChannelHandler, _ body: (URL) async throws -> Void
    ) async throws {
        let listener = try TCPListener.bind(host: "127.0.0.1", port: 0, on: group) { _ in makeHandler() }
        defer { group.shutdown() }
        try await body(try #require(URL(string: "ws://127.0.0.1:\(listener.port)/socket.io/?EIO=4")))
    }

    private func withEcho(greeting: [String] = [], _ body: (any SocketConnection) async throws -> Void) async throws {
        let frames = greeting.flatMap { WebSocketFrame.encode(.text, Array($0.utf8)) }
        try await withServer(EchoServer(greeting: frames)) { url in
            let connection = try await WebSocketTransport().connect(to: url)
            try await body(connection)
            connection.close()
        }
    }

    @Test("text is sent and received in order, also what arrives with the handshake")
    func echo() async throws {
        try await withEcho(greeting: ["hello", "there"]) { connection in
            #expect(try await connection.receive() == "hello")
            let texts = ["", "a", "é🙂", String(repeating: "x", count: 200_000)]
            for text in texts { try await connection.send(text) }
            for text in ["there"] + texts {
                let echoed = try await connection.receive()
                #expect(echoed == text)
            }
        }
    }

    @Test("a slow reader misses nothing")
    func slow() async throws {
        let texts = (0..<2000).map { String($0) }
        try await withEcho(greeting: texts) { connection in
            for text in texts {
                let received = try await connection.receive()
                #expect(received == text)
            }
        }
    }

    @Test("messages before the end are received, then the end")
    func end() async throws {
        try await withEcho { connection in
            try await connection.send("close")
            #expect(try await connection.receive() == "last")
            for _ in 0..<2 {
                await #expect(throws: ClientFailure.self) { try await connection.receive() }
            }
            await #expect(throws: ClientFailure.self) { try await connection.send("a") }
        }
    }

    @Test("close ends a waiting receive")
    func closing() async throws {
        try await withEcho { connection in
            let receiving = Task { try await connection.receive() }
            try await connection.send("x")
            #expect(try await receiving.value == "x")
            let waiting = Task { try await connection.receive() }
            connection.close()
            await #expect(throws: ClientFailure.self) { try await waiting.value }
        }
    }

    @Test("cancelling a receive ends the connection")
    func cancelling() async throws {
        try await withEcho { connection in
            let waiting = Task { try await connection.receive() }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            await #expect(throws: ClientFailure.self) { try await connection.receive() }
        }
    }

    @Test("a cancelled request does not affect the others")
    func cancelledAsker() async throws {
        let handshake = #"0{"sid":"e","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":9}"#
        try await withEcho(greeting: [handshake]) { connection in
            let sending = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await connection.send("6")
            }
            try await sending.value
            let link = SocketLink(connection, clock: SystemClock(), handshakeTimeout: .seconds(12))
            try await link.open()
            let asking = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await link.ask("a", [:], timeout: .seconds(10))
            }
            await #expect(throws: CancellationError.self) { try await asking.value }
            try await link.send("b", [:])
            // The echo shows what the server has received.
            #expect(try await link.next() == .event(name: "a", data: Data("{}".utf8)))
            #expect(try await link.next() == .event(name: "b", data: Data("{}".utf8)))
        }
    }

    @Test("a refused connection, and a server without WebSocket, are offline")
    func offline() async throws {
        func failure(_ url: URL) async -> ClientFailure? {
            await #expect(throws: ClientFailure.self) { _ = try await WebSocketTransport().connect(to: url) }
        }
        try await withServer(PlainServer()) { url in
            #expect(await failure(url)?.isRetryable == true)
        }
        // Nothing listens on port 1.
        let nobody = try #require(URL(string: "ws://127.0.0.1:1/"))
        #expect(await failure(nobody)?.isRetryable == true)
    }

    @Test("wss is refused for good, with an explanation")
    func secure() async throws {
        defer { group.shutdown() }
        let url = try #require(URL(string: "wss://chat.example/"))
        let failure = await #expect(throws: ClientFailure.self) {
            _ = try await WebSocketTransport().connect(to: url)
        }
        guard case .refused(let refusal) = failure else {
            Issue.record("it is \(String(describing: failure))")
            return
        }
        #expect(refusal.code == "unsupported_scheme" && !refusal.isRetryable)
    }
}
