import ParlorWebSocket

extension FuzzTarget {
    /// Bytes of a peer, read in the role that the first byte selects.
    static let webSocket = FuzzTarget(name: "websocket", maxLength: 4096) { input throws(FuzzFinding) in
        let role: WebSocketParser.Role = (input.first ?? 0) & 1 == 0 ? .server : .client
        let stream = Array(input.dropFirst())
        let outcome = try sameForEverySplit(stream) { (pieces) throws(FuzzFinding) in
            try WebSocketOutcome(pieces, role)
        }
        let reference = WebSocketReference(role, WebSocketOutcome.limits).read(stream)
        try require(outcome.events == reference.events, "\(outcome.events), expected \(reference.events)")
        try require(
            outcome.error?.closeCode == reference.closeCode, "\(outcome.error.debugDescription), expected \(reference)")
        for case .ping(let payload) in outcome.events { _ = WebSocketFrame.encode(.pong, payload) }
        for case .close(let code, let reason) in outcome.events { _ = WebSocketFrame.close(code, reason: reason) }
    }

    /// Messages, fragmented as the input says, with control frames in between: encoded messages are
    /// read back.
    static let webSocketFrames = FuzzTarget(name: "websocket-frames", maxLength: 4096) { input throws(FuzzFinding) in
        var input = FuzzInput(input)
        let role: WebSocketParser.Role = input.bool() ? .server : .client
        var stream: [UInt8] = []
        var expected: [WebSocketEvent] = []
        while !input.isEmpty {
            let options = input.byte()
            let isText = options & 1 == 1
            var message = input.chunk()
            // These lengths lie at the border between one and two bytes for the length. Unit tests
            // cover the border to eight bytes, because 64 KiB take a fuzzer 60 ms.
            if options & 2 != 0, stream.count < 4096 {
                message = Array(repeating: message.first ?? 0, count: [125, 126, 127, 1000][Int(options >> 6)])
            }
            if isText { message = Array(String(decoding: message, as: UTF8.self).utf8) }
            var rest = message[...]
            var opcode: WebSocketOpcode = isText ? .text : .binary
            repeat {
                let isLast = options & 4 == 0 || input.isEmpty
                let part = isLast ? rest : rest.prefix(Int(input.byte()))
                rest = rest.dropFirst(part.count)
                stream += frame(opcode, Array(part), isFinal: isLast, role, &input)
                opcode = .continuation
                if isLast { break }
                guard options & 8 != 0 else { continue }
                let ping = Array(input.chunk().prefix(125))
                stream += frame(.ping, ping, isFinal: true, role, &input)
                expected.append(.ping(ping))
            } while true
            expected.append(isText ? .text(message) : .binary(message))
        }
        stream += WebSocketFrame.close(1000, reason: "bye", mask: role == .server ? 7 : nil)
        expected.append(.close(code: 1000, reason: "bye"))
        let outcome = try sameForEverySplit(stream) { (pieces) throws(FuzzFinding) in
            try WebSocketOutcome(pieces, role, limits: (1 << 20, 1 << 20))
        }
        try require(outcome.events == expected && outcome.error == nil, "\(outcome), expected \(expected)")
    }

    private static func frame(
        _ opcode: WebSocketOpcode, _ payload: [UInt8], isFinal: Bool, _ role: WebSocketParser.Role,
        _ input: inout FuzzInput
    ) -> [UInt8] {
        let mask = role == .server ? UInt32(input.byte()) &* 0x0101_0203 : nil
        return WebSocketFrame.encode(opcode, payload, isFinal: isFinal, mask: mask)
    }
}

/// The parser's outcome for some bytes.
private struct WebSocketOutcome: Equatable {
    typealias Limits = (messageBytes: Int, smallFragments: Int)

    private(set) var events: [WebSocketEvent] = []
    private(set) var error: WebSocketError?

    static let limits: Limits = (300, 6)

    init(_ pieces: [[UInt8]], _ role: WebSocketParser.Role, limits: Limits = Self.limits) throws(FuzzFinding) {
        var parser = WebSocketParser(
            role: role, maxMessageBytes: limits.messageBytes, maxSmallFragments: limits.smallFragments)
        do throws(WebSocketError) {
            for piece in pieces {
                parser.append(piece)
                while let event = try parser.next() { events.append(event) }
            }
        } catch {
            self.error = error
        }
        try require(parser.bufferedBytes <= limits.messageBytes + 125 + 14, "\(parser.bufferedBytes) bytes are held")
    }
}
