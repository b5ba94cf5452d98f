import Foundation
import Glibc

/// A client for any protocol on a TCP connection: raw bytes, lines, HTTP, WebSocket. It checks
/// little, and hides nothing.
public final class RawClient {
    private let socket: BlockingSocket
    private var received: [UInt8] = []

    /// - Parameter receiveBuffer: in bytes; a small one makes a client that takes little before it reads.
    /// - Throws: `WireError`, like everything here.
    public init(port: UInt16, receiveBuffer: Int32? = nil, from source: [UInt8]? = nil) throws {
        socket = try BlockingSocket(port: port, receiveBuffer: receiveBuffer, from: source)
    }

    /// Sends the same bytes repeatedly on a thread of its own, without reading, until the
    /// connection ends.
    public func flood(_ bytes: [UInt8]) {
        let socket = socket
        Thread.detachNewThread {
            // The caller waits for the end of the connection.
            while (try? socket.send(bytes)) != nil {}
        }
    }

    // MARK: Bytes

    public func send(_ bytes: [UInt8]) throws { try socket.send(bytes) }
    public func send(_ text: String) throws { try socket.send(text) }
    public func finishSending() { socket.finishSending() }
    public func close() { socket.disconnect() }

    /// `close`, for other threads.
    public var disconnect: @Sendable () -> Void { { [socket] in socket.disconnect() } }

    /// `send`, for other threads. If the connection has ended, nothing is sent.
    public var sendFromElsewhere: @Sendable (String) -> Void { { [socket] text in try? socket.send(text) } }

    /// Reads more bytes. Returns false if the connection has ended, cleanly or by a reset.
    private func fill() throws -> Bool {
        do {
            let bytes = try socket.receive()
            received += bytes
            return !bytes.isEmpty
        } catch WireError.failed("recv", ECONNRESET) {
            return false
        }
    }

    private func take(_ count: Int) throws -> [UInt8]? {
        while received.count < count { if try !fill() { return nil } }
        defer { received.removeFirst(count) }
        return Array(received.prefix(count))
    }

    public func isClosed() throws -> Bool { try received.isEmpty && !fill() }

    // MARK: Lines

    /// Returns the next line without its newline; nil at the end of the connection.
    public func receiveLine() throws -> String? {
        while true {
            if let newline = received.firstIndex(of: UInt8(ascii: "\n")) {
                defer { received.removeSubrange(...newline) }
                return String(decoding: received[..<newline], as: UTF8.self)
            }
            guard try fill() else {
                guard received.isEmpty else { throw WireError.unexpected("the connection ends within a line") }
                return nil
            }
        }
    }

    /// Returns all lines until the end.
    public func receiveToTheEnd() throws -> [String] {
        var lines: [String] = []
        while let line = try receiveLine() { lines.append(line) }
        return lines
    }

    // MARK: HTTP

    /// Sends a request and waits for its response.
    public func request(
        _ method: String, _ target: String, headers: [String] = [], body: String = ""
    ) throws -> RawResponse {
        let length = body.isEmpty ? [] : ["Content-Length: \(body.utf8.count)"]
        let head = ["\(method) \(target) HTTP/1.1", "Host: x"] + headers + length
        try send(head.joined(separator: "\r\n") + "\r\n\r\n" + body)
        return try response(to: method)
    }

    /// Returns the next response; its body has a `Content-Length`.
    public func response(to method: String = "GET") throws -> RawResponse {
        let head = try readHead()
        guard let status = Int(head.dropFirst(9).prefix(3)) else { throw WireError.unexpected(head) }
        let bare = RawResponse(status: status, head: head, body: "")
        let isEmpty = method == "HEAD" || status < 200 || status == 204 || status == 304
        guard let length = isEmpty ? 0 : bare.header("Content-Length").flatMap({ Int($0) }),
            let body = try take(length)
        else { throw WireError.unexpected("no body after \(head)") }
        return RawResponse(status: status, head: head, body: String(decoding: body, as: UTF8.self))
    }

    private func readHead() throws -> String {
        while true {
            let text = String(decoding: received, as: UTF8.self)
            if let end = text.firstRange(of: "\r\n\r\n") {
                let head = String(text[..<end.lowerBound])
                received.removeFirst(head.utf8.count + 4)
                return head
            }
            guard try fill() else { throw WireError.unexpected("the connection ends before a response") }
        }
    }

    // MARK: WebSocket

    public func openWebSocket(_ target: String, headers: [String] = []) throws -> RawResponse {
        try request(
            "GET", target,
            headers: [
                "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            ] + headers)
    }

    /// Sends a text frame, or another one, masked with zeros. Below 64 KiB.
    public func sendFrame(_ text: String, opcode: UInt8 = 1) throws { try send(frame(text, opcode: opcode)) }

    /// Sends text frames in one write.
    public func sendFrames(_ texts: [String]) throws { try send(texts.flatMap { frame($0, opcode: 1) }) }

    private func frame(_ text: String, opcode: UInt8) -> [UInt8] {
        let payload = Array(text.utf8)
        precondition(payload.count < 65_536, "no test needs longer ones")
        let length: [UInt8] =
            payload.count < 126
            ? [0x80 | UInt8(payload.count)] : [0x80 | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        return [0x80 | opcode] + length + [0, 0, 0, 0] + payload
    }

    /// Returns the next frame's payload; a close frame as `close CODE`; nil at the end.
    public func receiveFrame() throws -> String? {
        guard let start = try take(2) else { return nil }
        var length = Int(start[1])
        if length >= 126 {
            guard let bytes = try take(length == 126 ? 2 : 8) else { return nil }
            length = bytes.reduce(0) { $0 << 8 | Int($1) }
        }
        guard let payload = try take(length) else { return nil }
        if start[0] & 0xF == 8 { return "close \(payload.prefix(2).reduce(0) { $0 << 8 | Int($1) })" }
        return String(decoding: payload, as: UTF8.self)
    }
}

public struct RawResponse: Sendable {
    public let status: Int
    public let head: String
    public let body: String

    public func header(_ name: String) -> String? {
        for line in head.split(separator: "\r\n") where line.lowercased().hasPrefix(name.lowercased() + ": ") {
            return String(line.dropFirst(name.utf8.count + 2))
        }
        return nil
    }
}
